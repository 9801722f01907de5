// SPDX-License-Identifier: MIT
/*
 * Measures `kfdsched monitor` at a thousand samples per second of a process with 24 queues (this
 * one): its share of a core, and whether it takes all samples. The floor, measured alternately, is
 * a loop that reads the same directory a thousand times per second.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/gpu.h"
#include "tests/bench/report.h"

#define QUEUES 24
#define RING 4096u
#define ROUNDS 5
#define SECONDS 2
#define DUE (SECONDS * 1000 + 1) /* samples */

/* The floor: reads the names of the queues at each full millisecond, and skips those that are
 * already over. Returns the number of samples. */
static int bare_loop(const char *directory)
{
	uint64_t start = clock_ns(), ms = 0;
	DIR *queues = opendir(directory);
	int samples = 0;

	for (; queues && ms <= SECONDS * 1000; samples++) {
		rewinddir(queues);
		while (readdir(queues))
			continue;
		ms = (clock_ns() - start) / 1000000 + 1;
		const struct timespec next = clock_timespec(start + ms * 1000000);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return samples;
}

/* The child process: becomes kfdsched, or runs the loop. */
static void be_child(const char *kfdsched, int out)
{
	char pid[16], seconds[16], directory[64];

	snprintf(pid, sizeof(pid), "%d", (int)getppid());
	snprintf(seconds, sizeof(seconds), "%d", SECONDS);
	snprintf(directory, sizeof(directory), "/sys/class/kfd/kfd/proc/%s/queues", pid);
	dup2(out, STDOUT_FILENO);
	if (!kfdsched) {
		printf("{\"samples\": %d}\n", bare_loop(directory));
		fflush(stdout);
		_exit(0);
	}
	execl(kfdsched, kfdsched, "monitor", pid, "--interval", "1ms", "--seconds", seconds,
	      "--json", (char *)NULL);
	_exit(127);
}

/* Runs `kfdsched monitor`, or the loop if `kfdsched` is NULL. Returns the JSON of its stdout.
 * *share: its share of a core, in percent. */
static json_t *run(const char *kfdsched, double *share)
{
	uint64_t start = clock_ns();
	struct rusage use;
	int out[2], status;
	json_t *report;
	pid_t child;

	if (pipe2(out, O_CLOEXEC))
		return NULL;
	child = fork();
	if (child == 0)
		be_child(kfdsched, out[1]);
	close(out[1]);
	report = json_loadfd(out[0], 0, NULL);
	close(out[0]);
	if (child < 0 || wait4(child, &status, 0, &use) != child || status != 0)
		return NULL;
	double cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;

	*share = 100 * cpu * 1e9 / (double)(clock_ns() - start);
	return report;
}

/* Returns the samples taken in percent of those due. Frees the object. */
static double taken_of(json_t *report)
{
	json_int_t samples = json_integer_value(json_object_get(report, "samples"));

	json_decref(report);
	return 100.0 * (double)samples / DUE;
}

/* Returns whether the samples contain all queues, and the same ones each time. */
static bool saw_all(const json_t *report)
{
	const json_t *queues = json_object_get(report, "queues");

	return json_integer_value(json_object_get(queues, "min")) >= QUEUES &&
	       json_is_true(json_object_get(report, "stable"));
}

static void print_stats(double *shares, double *bare, double *taken, double *bare_taken)
{
	double cost = bench_ratio(shares, bare, ROUNDS);
	double ratio = bench_ratio(taken, bare_taken, ROUNDS);
	struct bench bench;

	bench_begin(&bench, "monitor", "kfdsched monitor, 1,000 samples a second of 24 queues");
	bench_series(&bench, "share of a core", "%", shares, ROUNDS);
	bench_series(&bench, "bare loop", "%", bare, ROUNDS);
	bench_figure(&bench, "share of a core, median of 5 runs", bench_median(shares, ROUNDS), "%",
		     NULL, 0);
	bench_figure(&bench, "share of a loop that reads the same folder",
		     bench_median(bare, ROUNDS), "%", NULL, 0);
	bench_figure(&bench, "share of a core / that of the loop", cost, "x", "at_most", 4);
	bench_figure(&bench, "samples taken of those due, median of 5 runs",
		     bench_median(taken, ROUNDS), "%", NULL, 0);
	bench_figure(&bench, "samples taken / those of the loop", ratio, "x", "at_least", 0.8);
	exit(bench_end(&bench));
}

int main(int argc, char **argv)
{
	double shares[ROUNDS], taken[ROUNDS], bare[ROUNDS], bare_taken[ROUNDS];
	hsa_queue_t *queues[QUEUES];

	if (argc != 2) {
		fprintf(stderr, "usage: bench_monitor KFDSCHED\n");
		return 2;
	}
	gpu_must(hsa_init(), "hsa_init");
	hsa_agent_t gpu = gpu_first();

	for (unsigned i = 0; i < QUEUES; i++)
		queues[i] = gpu_queue(gpu, RING);
	for (unsigned i = 0; i < ROUNDS; i++) {
		bare_taken[i] = taken_of(run(NULL, &bare[i]));
		json_t *report = run(argv[1], &shares[i]);

		if (!saw_all(report)) {
			fprintf(stderr, "bench_monitor: it did not see the %d queues\n", QUEUES);
			return 1;
		}
		taken[i] = taken_of(report);
	}
	for (unsigned i = 0; i < QUEUES; i++)
		gpu_must(hsa_queue_destroy(queues[i]), "hsa_queue_destroy");
	gpu_must(hsa_shut_down(), "hsa_shut_down");
	print_stats(shares, bare, taken, bare_taken);
}
