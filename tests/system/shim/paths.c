// SPDX-License-Identifier: MIT
/*
 * Proves that work by every path reaches the daemon. This program acts as the daemon and orders
 * bursts of 1 to 16 packets at random times: some while the queue is idle, when activity must then
 * be reported, and some close behind one another.
 *  - The write pointers, read from the workload's memory, have moved by what was ordered, on a
 *    queue of the path's kind.
 *  - Every such change is accounted for: its queue is reported as active, or as idle with exactly
 *    that write pointer (path_account.h).
 *  - One burst in 16, or a thousand of them, ends with a kernel of 20 ms, if the path has kernels:
 *    idle is not reported before it can be over.
 *  - Idle is found in time. This machine's timers are late, by milliseconds on a busy virtual one,
 *    for both processes. Therefore medians are compared with the bound, which is widened by twice
 *    the median lateness of this program's own sleeps. Nine in ten are compared with it, too. What
 *    polls find needs about four timers in a row, and one of four is among the latest 2.5 % in one
 *    case of ten: these are widened by four times that lateness. The rest is printed.
 *  - At the end everything is idle and stays so, and every change was seen.
 *
 *   test_paths BURSTS PATH WORKLOAD...
 *
 * BUILD in the environment names the directory of the libraries.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"
#include "tests/system/shim/path_account.h"
#include "tests/system/shim/path_work.h"

#define SEED 4u
#define SOON_MS 3000 /* for a busy machine; the sampling period is at most 16 ms */
#define MS 1e6
/* one burst in this number ends with a kernel; of more than 16,000 bursts a thousand do */
#define SELDOM 16
#define WAITS_SELDOM 32	   /* at most one burst in this number waits for idleness */
#define COPIED_NS (2 * MS) /* ns within which the runtime takes a copy */

/* The values of shim/sampler.c: the shortest quiet time, and the limits of the sampling period. */
#define QUIET_NS (2 * MS)
#define POLL_MIN_NS MS
#define POLL_MAX_NS (16 * MS)
#define HOOKED_NS 100e3 /* ns for a hook to report work, or the end at the return of a wait */

/* The properties of each path. */
static const struct path {
	const char *name;
	bool sdma;   /* its work is on SDMA rings, otherwise on AQL rings */
	bool exact;  /* the number of written packets is exactly the ordered number */
	bool waited; /* a hooked wait shows the end */
	/* the last packet's signal shows the end, whatever length was learned for kernels */
	bool signal;
	bool copies; /* seen when the runtime has taken the copies */
	bool kernels;
} paths[] = {
	{"store", .exact = true, .waited = true, .kernels = true},
	{"dlopened", .exact = true, .waited = true, .kernels = true},
	{"direct", .exact = true, .signal = true, .kernels = true},
	{"raw", .exact = true, .signal = true, .kernels = true},
	{"intercepted", .exact = true, .signal = true, .kernels = true},
	{"thunk", .exact = true, .signal = true},
	{"sdma", .sdma = true, .copies = true},
	{"blit", .signal = true, .copies = true},
};

struct samples {
	double *values;
	unsigned n;
};

static struct fake_daemon daemon_;
static int to, from;
static const struct path *path;
static struct path_result last;	 /* the workload's last answer */
static uint64_t last_command_ns; /* ns; when the previous burst was ordered */
/* ns; maximum that the shim can have learned as a kernel's length */
static double longest_ns;
static uint64_t packets_wanted;
static unsigned seldom;	      /* one burst in this number ends with a kernel */
static unsigned waits_seldom; /* one burst in this number waits for idleness */
static unsigned from_idle, kernels;
static struct samples timer_late;  /* lateness of this program's sleeps */
static struct samples work_late;   /* from a burst's begin while idle to the report of activity */
static struct samples seen_late;   /* from a burst's end until it is accounted for */
static struct samples idle_late;   /* from a burst's end to idleness */
static struct samples idle_bounds; /* the bound for each of these */
static struct samples idle_excess; /* the part of idle_late above its bound */

static pid_t start(char **argv)
{
	int in[2], out[2];
	char preload[512];
	pid_t pid;

	fake_daemon_open(&daemon_);
	CHECK(pipe(in) == 0 && pipe(out) == 0);
	snprintf(preload, sizeof(preload), "%s/libkfdshim.so", getenv("BUILD"));
	pid = fork();
	if (pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		setenv("LD_PRELOAD", preload, 1);
		execv(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to = in[1];
	from = out[0];
	return pid;
}

static void replied(void)
{
	if (read(from, &last, sizeof(last)) != sizeof(last))
		fake_failed(__FILE__, __LINE__, "the workload is gone");
}

static struct client_shm_node node(void)
{
	struct client_shm_node node = {0};

	client_shm_node_read(daemon_.shm, 0, &node);
	return node;
}

static uint64_t transitions(void)
{
	return node().activity >> 1;
}

static bool active(void)
{
	return node().activity & 1;
}

static void sample(struct samples *samples, double ns)
{
	samples->values[samples->n++] = ns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns a quantile in ms; sorts the samples. */
static double quantile(struct samples *samples, double q)
{
	qsort(samples->values, samples->n, sizeof(double), by_value);
	return samples->n ? samples->values[(unsigned)(q * (samples->n - 1))] / MS : 0;
}

static void sleep_measured(unsigned us)
{
	uint64_t start = clock_ns();

	fake_sleep_us(us);
	sample(&timer_late, (double)(clock_ns() - start) - us * 1e3);
}

static double limited(double ns, double least, double most)
{
	return ns < least ? least : ns > most ? most : ns;
}

/* Returns the bound, in ns: one poll to notice the last change, and the quiet time
 * (docs/internals/activity.md). */
static double idle_bound(const struct client_shm_node *at)
{
	double poll_ns, notice, quiet;

	if (path->waited)
		return HOOKED_NS;
	poll_ns = limited((double)(at->idle_ns - at->active_ns) / 4, POLL_MIN_NS, POLL_MAX_NS);
	notice = limited((double)(last.end_ns - last_command_ns) / 4, poll_ns, POLL_MAX_NS);
	quiet = poll_ns > QUIET_NS ? poll_ns : QUIET_NS;
	if (!path->signal && 1.5 * longest_ns > quiet)
		quiet = 1.5 * longest_ns;
	return notice + quiet;
}

/* Returns the bound, in ns, from a burst's begin to the report of activity. */
static double work_bound(void)
{
	return path->waited ? HOOKED_NS : path->copies ? COPIED_NS : POLL_MAX_NS;
}

static void measure_idle(void)
{
	struct client_shm_node at;
	double late, bound;

	EVENTUALLY(!active(), 5000);
	at = node();
	late = (double)at.idle_ns - (double)last.end_ns;
	bound = idle_bound(&at);
	sample(&idle_late, late);
	sample(&idle_bounds, bound);
	sample(&idle_excess, late - bound);
	longest_ns -= longest_ns / 16;
}

/* If a queue did not move between two polls, the shim may take that time for a kernel's length. */
static void learn(void)
{
	double stood = (double)(last.end_ns - last.begin_ns) + POLL_MIN_NS;

	longest_ns = stood > longest_ns ? stood : longest_ns;
}

static void check_moved(unsigned packets)
{
	struct account_moved moved = account_read();

	packets_wanted += packets;
	if (path->sdma)
		CHECK(moved.sdma_bytes > 0 && moved.packets == 0);
	else if (path->exact)
		CHECK(moved.packets == packets && moved.sdma_bytes == 0);
	else
		CHECK(moved.packets > 0 && moved.sdma_bytes == 0);
}

static void burst(void)
{
	unsigned char packets = (unsigned char)(1 + rand() % 16), task;
	bool idle, kernel = (unsigned)rand() % seldom == 0 && path->kernels;
	uint64_t before, command_ns;

	task = packets | (kernel ? PATH_KERNEL : 0);
	sleep_measured((unsigned)rand() % 1000);
	before = transitions();
	idle = !active();
	command_ns = clock_ns();
	CHECK(write(to, &task, 1) == 1);
	replied();
	check_moved(packets);
	/* The simulated GPU's own time is checked first, so that an error of the simulator is not
	 * taken for one of the shim. */
	CHECK(!kernel || last.end_ns >= last.begin_ns + PATH_KERNEL_MS * 1000000u);
	account_lasts_until(kernel ? last.begin_ns + PATH_KERNEL_MS * 1000000u : 0);
	kernels += kernel;
	EVENTUALLY(account_published(), SOON_MS);
	sample(&seen_late, (double)(clock_ns() - last.end_ns));
	if (idle) {
		from_idle++;
		EVENTUALLY(transitions() > before, SOON_MS);
		sample(&work_late, (double)node().active_ns - (double)last.begin_ns);
	}
	learn();
	if ((unsigned)rand() % waits_seldom == 0)
		measure_idle();
	last_command_ns = command_ns;
}

static void make_room(unsigned bursts)
{
	struct samples *all[] = {&timer_late, &work_late,   &seen_late,
				 &idle_late,  &idle_bounds, &idle_excess};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		all[i]->values = calloc(bursts, sizeof(double));
		CHECK(all[i]->values != NULL);
	}
}

/* Returns whether more than a tenth of the samples are above the allowance, by more than three
 * standard deviations. */
static bool tail_is_above(const struct samples *samples, double allowance_ms)
{
	double above = 0;

	for (unsigned i = 0; i < samples->n; i++)
		above += samples->values[i] > allowance_ms * MS;
	above -= 0.1 * samples->n;
	return above > 0 && above * above > 9 * 0.1 * 0.9 * samples->n;
}

static void start_work(unsigned bursts)
{
	double allowance = 2 * quantile(&timer_late, 0.5), excess = quantile(&idle_excess, 0.5);
	double tail_allowance = 4 * quantile(&timer_late, 0.975);
	double tail_excess = quantile(&idle_excess, 0.9);

	printf("%s: %u bursts of %llu packets, %u of them into idleness, %u with a kernel; every "
	       "advance seen\n",
	       path->name, bursts, (unsigned long long)packets_wanted, from_idle, kernels);
	printf("  activity after P50 %.3f ms, P99 %.3f ms; ", quantile(&work_late, 0.5),
	       quantile(&work_late, 0.99));
	printf("accounted for after P50 %.3f ms, P99 %.3f ms, at most %.3f ms\n",
	       quantile(&seen_late, 0.5), quantile(&seen_late, 0.99), quantile(&seen_late, 1));
	printf("  idle after P50 %.3f ms (bound P50 %.3f ms), P99 %.3f ms, at most %.3f ms; %u "
	       "times\n",
	       quantile(&idle_late, 0.5), quantile(&idle_bounds, 0.5), quantile(&idle_late, 0.99),
	       quantile(&idle_late, 1), idle_late.n);
	printf("  idle - bound P50 %.3f ms, allowed %.3f ms; P90 %.3f ms, allowed %.3f ms; ",
	       excess, path->waited ? 0 : allowance, tail_excess, tail_allowance);
	printf("timers late by P50 %.3f ms, P97.5 %.3f ms, P99 %.3f ms\n",
	       quantile(&timer_late, 0.5), quantile(&timer_late, 0.975),
	       quantile(&timer_late, 0.99));
	fflush(stdout);
	/* A hook needs no timer, but its program needs a core, and may have to wait for one between
	 * the begin of a burst and the first doorbell. */
	CHECK(quantile(&work_late, 0.5) <= work_bound() / MS + allowance);
	CHECK(excess <= (path->waited ? 0 : allowance));
	CHECK(!tail_is_above(&idle_excess, tail_allowance));
}

static bool stands_still(void)
{
	uint64_t before = transitions();

	fake_sleep_us(50000);
	return !active() && transitions() == before;
}

int main(int argc, char **argv)
{
	unsigned bursts;
	uint64_t end;
	int status;
	pid_t pid;

	for (size_t i = 0; argc > 3 && i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strcmp(paths[i].name, argv[2]) == 0)
			path = &paths[i];
	if (!path || !getenv("BUILD")) {
		fprintf(stderr, "usage: BUILD=... test_paths BURSTS PATH WORKLOAD...\n");
		return 2;
	}
	bursts = (unsigned)atoi(argv[1]);
	seldom = bursts / 1000 > SELDOM ? bursts / 1000 : SELDOM;
	waits_seldom = seldom < WAITS_SELDOM ? seldom : WAITS_SELDOM;
	make_room(bursts);
	srand(SEED);
	pid = start(argv + 3);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	replied();
	/* A small workload is ready before its agent has connected, and the first work of its queue
	 * may be found only then. */
	EVENTUALLY(fake_daemon_queue_count(&daemon_) > 0, 5000);
	EVENTUALLY(stands_still(), 5000);
	account_begin(daemon_.shm, pid);
	last_command_ns = clock_ns();
	for (unsigned i = 0; i < bursts; i++)
		burst();
	EVENTUALLY(!active() && account_closed(), 5000);
	end = transitions();
	fake_sleep_us(100000);
	CHECK(transitions() == end && account_closed());
	close(to);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(from_idle >= bursts / 2 / waits_seldom);
	CHECK(!path->kernels || kernels >= bursts / 2 / seldom);
	start_work(bursts);
	return 0;
}
