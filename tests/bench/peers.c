// SPDX-License-Identifier: MIT
/*
 * Measures the costs that 64 processes without a daemon cause in one of them, by counting its
 * system calls. The agent's sources are linked into this program, with a mock of the driver; one
 * other process plays the other 63.
 *
 *     bench_peers
 */
#include <stdio.h>

#include "common/clock.h"
#include "common/wait.h"
#include "tests/bench/report.h"
#include "tests/lib/many_peers.h"

#define RINGS 21
#define STATS 4
#define SECOND_NS UINT64_C(1000000000)

static struct fake_queue queue;
static struct fake_signal last = {.kind = 1};

/* Starts the peers with priority `theirs` and the agent with `priority`, and waits until all peers
 * have received a datagram. */
static void meet(const char *priority, int theirs)
{
	many_start(theirs);
	setenv("KFDSHIM_PRIORITY", priority, 1);
	fake_start();
	CHECK(fake_queue_create(&queue, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	for (int met = 0; met < MANY; met += many_command('n'))
		sleep_ns(10000000);
	sleep_ns(SECOND_NS / 5);
}

/* The two measurements. Each runs in a child process, because a process can start the agent only
 * once; the child returns its result through a pipe. */
static void quiet(double *out)
{
	meet("offline", PRIORITY_ONLINE);
	fake_ring(&queue, &last);
	sleep_ns(SECOND_NS / 5);
	shms_read = calls_of_agent = 0;
	sleep_ns(SECOND_NS);
	out[0] = shms_read;
	out[1] = calls_of_agent;
	many_end();
}

static void rung(double *out)
{
	double us[RINGS], first_us[RINGS], last_us[RINGS];
	struct many_times times;
	uint64_t begun;

	meet("online", PRIORITY_OFFLINE);
	out[0] = 0;
	for (int i = 0; i < RINGS; i++) {
		CHECK(write(many.to, "t", 1) == 1);
		sleep_ns(1000000);
		calls_of_program = 0;
		begun = clock_ns();
		fake_ring(&queue, &last);
		us[i] = (double)(clock_ns() - begun) / 1e3;
		out[0] = calls_of_program > out[0] ? calls_of_program : out[0];
		CHECK(read(many.from, &times, sizeof(times)) == (ssize_t)sizeof(times));
		first_us[i] = (double)(times.first_ns - begun) / 1e3;
		last_us[i] = (double)(times.last_ns - begun) / 1e3;
		fake_drain(&queue);
		fake_waited(&last);
		for (int reported = 0; reported < MANY; reported += many_command('n'))
			sleep_ns(1000000);
	}
	out[1] = bench_median(us, RINGS);
	out[2] = bench_median(first_us, RINGS);
	out[3] = bench_median(last_us, RINGS);
	many_end();
}

static bool in_child(void (*body)(double *out), double out[STATS])
{
	int ends[2], status;
	double values[STATS] = {0};
	pid_t pid;

	if (pipe(ends))
		return false;
	pid = fork();
	if (pid == 0) {
		body(values);
		_exit(write(ends[1], values, sizeof(values)) != (ssize_t)sizeof(values));
	}
	close(ends[1]);
	return pid > 0 && read(ends[0], out, sizeof(values)) == (ssize_t)sizeof(values) &&
	       waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
	double quietly[STATS], ringing[STATS];
	struct bench b;

	if (!in_child(quiet, quietly) || !in_child(rung, ringing)) {
		fprintf(stderr, "bench_peers: it did not come to its end\n");
		return 1;
	}
	bench_begin(&b, "peers", "64 processes without a daemon");
	bench_figure(&b, "reads of 63 silent peers' lanes a second, while a kernel stands",
		     quietly[0], "", "at_most", 0);
	bench_figure(&b, "... all of the agent's calls for peers and descriptors", quietly[1], "",
		     "at_most", 400);
	bench_figure(&b, "system calls of the doorbell that begins work before 63 less urgent ones",
		     ringing[0], "", "at_most", 8);
	bench_figure(&b, "... that doorbell, median of 21", ringing[1], "us", NULL, 0);
	bench_figure(&b, "... from that doorbell until the first of the 63 is woken", ringing[2],
		     "us", NULL, 0);
	bench_figure(&b, "... until the last of them is woken", ringing[3], "us", NULL, 0);
	return bench_end(&b);
}
