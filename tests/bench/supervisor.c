// SPDX-License-Identifier: MIT
/*
 * Measures the resources of kfdsim itself, from outside, while bench_tenants runs within it: the
 * memory with 64 processes of 8 queues each, the memory that remains after their end (a leak shows
 * as growth from round to round), and, while queues exist without work, the number of its wakes and
 * its share of a core, beside a thread that wakes as often and does nothing.
 *
 *     bench_supervisor KFDSIM TENANTS
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/report.h"
#include "tests/bench/spent.h"

#define PROCESSES "64"
#define QUEUES "8"
#define ROUNDS 4
#define QUIET_S 20 /* s; kfdsim polls less often after a pause */
#define IDLE_S 10
#define IDLES 5 /* alternately with the bare thread */

struct run {
	pid_t pid;
	FILE *to, *from;
};

static int start(struct run *run, const char *kfdsim, const char *tenants, const char *processes,
		 const char *queues, const char *rounds)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -1;
	run->pid = fork();
	if (!run->pid) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl(kfdsim, kfdsim, "--", tenants, processes, queues, rounds, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	run->to = fdopen(in[1], "w");
	run->from = fdopen(out[0], "r");
	return run->pid > 0 && run->to && run->from ? 0 : -1;
}

static int hear(struct run *run, const char *word)
{
	char line[32];

	return !fgets(line, sizeof line, run->from) || strncmp(line, word, strlen(word));
}

static void go_on(struct run *run)
{
	fputs("\n", run->to);
	fflush(run->to);
}

/* Returns the memory of the process in MiB, with its proportional share of the files that it shares
 * with the simulated processes (Pss). */
static double memory_mib(pid_t pid)
{
	char path[64], line[128];
	double kib = 0, value;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "Pss: %lf", &value) == 1)
			kib = value;
	if (f)
		fclose(f);
	return kib / 1024.0;
}

static int memory(struct bench *bench, char **argv)
{
	double with[ROUNDS], after[ROUNDS];
	struct run run;
	int bad = start(&run, argv[1], argv[2], PROCESSES, QUEUES, "4");

	for (int i = 0; i < ROUNDS && !bad; i++) {
		bad = hear(&run, "ready");
		with[i] = memory_mib(run.pid);
		go_on(&run);
		bad = bad || hear(&run, "gone");
		after[i] = memory_mib(run.pid);
		go_on(&run);
	}
	if (bad || waitpid(run.pid, NULL, 0) < 0)
		return -1;
	bench_figure(bench, PROCESSES " processes with " QUEUES " queues each, kfdsim's memory",
		     with[0], "MiB", "at_most", 300);
	bench_figure(bench, "when they have gone", after[0], "MiB", NULL, 0);
	bench_figure(bench, "growth from round 2 to round 4, when all have gone",
		     after[ROUNDS - 1] - after[1], "MiB", "at_most", 1);
	return 0;
}

/* Returns the CPU time in ns of one wake of a thread that does nothing. Measured with the calling
 * thread. */
static double bare_wake_ns(double wakes_a_second)
{
	const struct timespec pause = clock_timespec((uint64_t)(1e9 / wakes_a_second));
	double before = spent_cpu_ns(getpid());
	unsigned n = (unsigned)wakes_a_second;

	for (unsigned i = 0; i < n; i++)
		nanosleep(&pause, NULL);
	return (spent_cpu_ns(getpid()) - before) / n;
}

static void idle_stats(struct bench *bench, pid_t pid)
{
	double wakes[IDLES], share[IDLES], ours_ns[IDLES], bare_ns[IDLES];
	const struct timespec span = {IDLE_S / IDLES, 0};

	for (int i = 0; i < IDLES; i++) {
		double cpu_ns = spent_cpu_ns(pid), sleeps = spent_sleeps(pid), ns;
		uint64_t start = clock_ns();

		nanosleep(&span, NULL);
		ns = (double)(clock_ns() - start);
		cpu_ns = spent_cpu_ns(pid) - cpu_ns;
		sleeps = spent_sleeps(pid) - sleeps;
		wakes[i] = sleeps * 1e9 / ns;
		share[i] = 100 * cpu_ns / ns;
		ours_ns[i] = cpu_ns / sleeps;
		bare_ns[i] = bare_wake_ns(wakes[i]);
	}
	bench_figure(bench, "idle, one process, " QUEUES " quiet queues: wakes a second",
		     bench_median(wakes, IDLES), "/s", "at_most", 450);
	bench_figure(bench, "... CPU time of a wake / of a bare wake",
		     bench_ratio(ours_ns, bare_ns, IDLES), "x", "at_most", 6);
	bench_figure(bench, "... of a core", bench_median(share, IDLES), "%", NULL, 0);
}

static int idle(struct bench *bench, char **argv)
{
	const struct timespec quiet = {QUIET_S, 0};
	struct run run;
	int bad = start(&run, argv[1], argv[2], "1", QUEUES, "1") || hear(&run, "ready");

	if (bad)
		return -1;
	nanosleep(&quiet, NULL);
	idle_stats(bench, run.pid);
	go_on(&run);
	bad = hear(&run, "gone");
	go_on(&run);
	return bad || waitpid(run.pid, NULL, 0) < 0;
}

int main(int argc, char **argv)
{
	struct bench bench;

	if (argc != 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	bench_begin(&bench, "supervisor", "What kfdsim itself takes");
	if (memory(&bench, argv) || idle(&bench, argv)) {
		fprintf(stderr, "bench_supervisor: the processes did not come or go as told\n");
		return 1;
	}
	return bench_end(&bench);
}
