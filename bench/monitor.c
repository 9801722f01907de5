// SPDX-License-Identifier: MIT
/*
 * What `kfdsched monitor` costs at a thousand samples a second of a process with 24 queues,
 * this one: its share of a core, and whether it takes all the samples.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/figures.h"
#include "bench/gpu.h"
#include "common/clock.h"

#define QUEUES 24
#define RING 4096u
#define ROUNDS 5
#define SECONDS 2

/* The verb's JSON, from its stdout. */
static json_t *run(const char *kfdsched, double *share)
{
	char pid[16], seconds[16];
	struct rusage use;
	int out[2], status;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(seconds, sizeof(seconds), "%d", SECONDS);
	if (pipe2(out, O_CLOEXEC))
		return NULL;
	uint64_t start = clock_ns();
	pid_t child = fork();

	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		execl(kfdsched, kfdsched, "monitor", pid, "--interval", "1ms", "--seconds", seconds,
		      "--json", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	json_t *said = json_loadfd(out[0], 0, NULL);

	close(out[0]);
	if (child < 0 || wait4(child, &status, 0, &use) != child || status != 0)
		return NULL;
	double cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;

	*share = 100 * cpu * 1e9 / (double)(clock_ns() - start);
	return said;
}

int main(int argc, char **argv)
{
	double shares[ROUNDS], taken[ROUNDS];
	hsa_queue_t *queues[QUEUES];
	struct bench bench;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_monitor KFDSCHED\n");
		return 2;
	}
	gpu_must(hsa_init(), "hsa_init");
	hsa_agent_t gpu = gpu_first();

	for (unsigned i = 0; i < QUEUES; i++)
		queues[i] = gpu_queue(gpu, RING);
	for (unsigned i = 0; i < ROUNDS; i++) {
		json_t *said = run(argv[1], &shares[i]);
		json_int_t samples = json_integer_value(json_object_get(said, "samples"));
		json_int_t least =
			json_integer_value(json_object_get(json_object_get(said, "queues"), "min"));

		if (least < QUEUES || !json_is_true(json_object_get(said, "stable"))) {
			fprintf(stderr, "bench_monitor: it did not see the %d queues\n", QUEUES);
			return 1;
		}
		taken[i] = 100.0 * (double)samples / (SECONDS * 1000 + 1);
		json_decref(said);
	}
	for (unsigned i = 0; i < QUEUES; i++)
		gpu_must(hsa_queue_destroy(queues[i]), "hsa_queue_destroy");
	gpu_must(hsa_shut_down(), "hsa_shut_down");

	bench_begin(&bench, "monitor", "kfdsched monitor, 1,000 samples a second of 24 queues");
	bench_figure(&bench, "share of a core, median of 5 runs", bench_median(shares, ROUNDS), "%",
		     "at_most", 5);
	bench_figure(&bench, "samples taken of those due, median of 5 runs",
		     bench_median(taken, ROUNDS), "%", "at_least", 90);
	bench_series(&bench, "share of a core", "%", shares, ROUNDS);
	return bench_end(&bench);
}
