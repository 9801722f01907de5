// SPDX-License-Identifier: MIT
/*
 * Measures the costs of the host that virtual time charges as fixed settings instead of measuring
 * them (kfdsim --virtual): the wake of a process that sleeps on another CPU, an ioctl of a driver
 * that returns at once, and a dispatch by AMD's runtime. Beside each stands the value that a
 * profile charges. Of a dispatch only the runtime's part is measured: the doorbell is memory here,
 * so its latency over PCIe is not included.
 *
 *     bench_host KFDSIM PROFILE.ini
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/random.h>

#include "common/clock.h"
#include "tests/bench/gpu.h"
#include "tests/bench/report.h"
#include "tests/bench/seccomp_floor.h"

#define ROUNDS 9u
#define WAKES 400u   /* per round */
#define BATCHES 200u /* of calls, and of dispatches; per round */
#define BATCH 128u   /* operations in a batch */
#define RING 1024u

/* Measures driver calls: ns of one call, for each batch. */
static void calls(double *ns)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC), bits;

	for (unsigned b = 0; b < BATCHES; b++) {
		uint64_t start = clock_ns();

		/* RNDGETENTCNT executes the driver's own function, which copies its result out. */
		for (unsigned i = 0; i < BATCH; i++)
			if (ioctl(fd, RNDGETENTCNT, &bits))
				exit(1);
		ns[b] = (double)(clock_ns() - start) / BATCH;
	}
	close(fd);
}

/* Returns the ns of one dispatch: slot, packet and doorbell. The packets wait for `gate` until the
 * batch has been submitted. */
static double dispatch_ns(hsa_queue_t *queue, hsa_signal_t gate, hsa_signal_t done)
{
	const hsa_signal_t none = {0};
	uint64_t start = 0, end;

	hsa_signal_store_relaxed(gate, 1);
	hsa_signal_store_relaxed(done, 1);
	for (unsigned i = 0; i < BATCH + 2; i++) {
		uint64_t at = hsa_queue_add_write_index_screlease(queue, 1);

		gpu_barrier(queue, at, i ? none : gate, i == BATCH + 1 ? done : none);
		hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)at);
		if (i == 0)
			start = clock_ns();
	}
	end = clock_ns();
	hsa_signal_store_screlease(gate, 0);
	hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_BLOCKED);
	return (double)(end - start) / (BATCH + 1);
}

/* Runs within kfdsim: writes the dispatches of a round to stdout. */
static int dispatches(void)
{
	hsa_signal_t gate, done;
	double ns[BATCHES];
	hsa_queue_t *queue;

	gpu_must(hsa_init(), "hsa_init");
	queue = gpu_queue(gpu_first(), RING);
	gpu_must(hsa_signal_create(1, 0, NULL, &gate), "hsa_signal_create");
	gpu_must(hsa_signal_create(1, 0, NULL, &done), "hsa_signal_create");
	for (unsigned b = 0; b < BATCHES; b++)
		ns[b] = dispatch_ns(queue, gate, done);
	gpu_must(hsa_signal_destroy(gate), "hsa_signal_destroy");
	gpu_must(hsa_signal_destroy(done), "hsa_signal_destroy");
	gpu_must(hsa_queue_destroy(queue), "hsa_queue_destroy");
	gpu_must(hsa_shut_down(), "hsa_shut_down");
	return fwrite(ns, sizeof ns, 1, stdout) != 1;
}

static int round_of_dispatches(const char *kfdsim, const char *self, double *ns)
{
	char command[8192];
	FILE *from;
	size_t n;

	snprintf(command, sizeof command, "exec '%s' -- '%s' --dispatches", kfdsim, self);
	from = popen(command, "re");
	if (!from)
		return -1;
	n = fread(ns, sizeof *ns, BATCHES, from);
	return pclose(from) || n != BATCHES ? -1 : 0;
}

/* Returns the charge in us that a line "KEY = VALUE" of the profile sets. Returns NaN, which
 * bench_end() refuses, if the profile has no such key. */
static double charge(const char *profile, const char *key)
{
	FILE *f = fopen(profile, "re");
	char line[512], name[64];
	double value, us = NAN;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%63[a-z_] = %lf", name, &value) == 2 && !strcmp(name, key))
			us = value;
	if (f)
		fclose(f);
	return us;
}

static void print_stats(struct bench *bench, const char *what, double *us, size_t n,
			const char *profile, const char *key)
{
	char name[128];

	snprintf(name, sizeof name, "%s, median", what);
	bench_figure(bench, name, bench_median(us, n), "us", NULL, 0);
	bench_figure(bench, "... of 100 the slowest one", us[n * 99 / 100], "us", NULL, 0);
	snprintf(name, sizeof name, "... charged in a virtual world: %s", key);
	bench_figure(bench, name, charge(profile, key), "us", NULL, 0);
	bench_series(bench, what, "us", us, n);
}

static void to_us(double *ns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ns[i] /= 1e3;
}

int main(int argc, char **argv)
{
	static double wake[ROUNDS * WAKES], call[ROUNDS * BATCHES], dispatch[ROUNDS * BATCHES];
	struct bench bench;

	if (argc == 2 && !strcmp(argv[1], "--dispatches"))
		return dispatches();
	if (argc != 3)
		return 2;
	for (size_t r = 0; r < ROUNDS; r++) {
		calls(call + r * BATCHES);
		if (bare_wakes(wake + r * WAKES, WAKES) ||
		    round_of_dispatches(argv[1], argv[0], dispatch + r * BATCHES)) {
			fprintf(stderr, "bench_host: round %zu did not come to its end\n", r);
			return 1;
		}
	}
	to_us(call, ROUNDS * BATCHES);
	to_us(dispatch, ROUNDS * BATCHES);
	bench_begin(&bench, "host", "What the host costs, and what virtual worlds charge for it");
	print_stats(&bench, "a wake on another CPU", wake, ROUNDS * WAKES, argv[2], "host_wake_us");
	print_stats(&bench, "a call of a driver", call, ROUNDS * BATCHES, argv[2], "host_ioctl_us");
	print_stats(&bench, "the runtime's dispatch", dispatch, ROUNDS * BATCHES, argv[2],
		    "host_dispatch_us");
	return bench_end(&bench);
}
