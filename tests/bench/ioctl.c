// SPDX-License-Identifier: MIT
/*
 * Measures the cost of a trapped ioctl: GET_CLOCK_COUNTERS (its struct is copied in and out) and
 * GET_VERSION (copied out only) on the simulated device, beside an ioctl that the filter passes and
 * a system call that is not trapped. The floor, measured alternately outside kfdsim, is the bare
 * round trip of a trapped call, which is the kernel's part.
 *
 *     bench_ioctl KFDSIM
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/report.h"
#include "tests/bench/seccomp_floor.h"
#include "tools/kfdconform/harness/harness.h"

#define ROUNDS 20u
#define SAMPLES 1000u /* per round */

/* One round, in us, as the half within kfdsim writes it to stdout. */
struct round {
	double with_notif[SAMPLES], version_only[SAMPLES], passed[SAMPLES], plain[SAMPLES];
};

static double us_since(uint64_t start_ns)
{
	return (double)(clock_ns() - start_ns) / 1000.0;
}

/* The half within kfdsim. */
static int inside(void)
{
	static struct round round;
	struct kfd_ioctl_get_clock_counters_args clocks = {0};
	struct kfd_ioctl_get_version_args version;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct termios terminal;
	struct gpu_file gpu;

	gpu_open(&gpu);
	for (unsigned i = 0; i < SAMPLES; i++) {
		uint64_t start = clock_ns();

		clocks.gpu_id = gpu.gpu_id;
		if (harness_ioctl(gpu.kfd, KFDABI_GET_CLOCK_COUNTERS, &clocks, sizeof clocks))
			return 1;
		round.with_notif[i] = us_since(start);
		start = clock_ns();
		if (ioctl(gpu.kfd, KFDABI_IOC_GET_VERSION, &version))
			return 1;
		round.version_only[i] = us_since(start);
		start = clock_ns();
		ioctl(null, TCGETS, &terminal); /* of another type, so the filter passes it */
		round.passed[i] = us_since(start);
		start = clock_ns();
		syscall(SYS_getppid);
		round.plain[i] = us_since(start);
	}
	return fwrite(&round, sizeof round, 1, stdout) != 1;
}

/* Runs the other half of this program within kfdsim. Returns 0 or -1. */
static int round_inside(const char *kfdsim, const char *self, struct round *round)
{
	int out[2], status = 0;
	pid_t child;
	FILE *from;

	if (pipe2(out, O_CLOEXEC))
		return -1;
	child = fork();
	if (!child) {
		dup2(out[1], STDOUT_FILENO);
		execl(kfdsim, kfdsim, "--", self, "--inside", NULL);
		_exit(127);
	}
	close(out[1]);
	from = fdopen(out[0], "r");
	if (!from || fread(round, sizeof *round, 1, from) != 1)
		status = 1;
	if (from)
		fclose(from);
	return child > 0 && waitpid(child, status ? NULL : &status, 0) == child && !status ? 0 : -1;
}

int main(int argc, char **argv)
{
	static double bare[ROUNDS * SAMPLES], with_notif[ROUNDS * SAMPLES];
	static double version_only[ROUNDS * SAMPLES], passed[ROUNDS * SAMPLES];
	static double plain[ROUNDS * SAMPLES];
	static struct round round;
	const size_t n = ROUNDS * SAMPLES;
	double ours_us[ROUNDS], floor_us[ROUNDS];
	struct bench bench;

	if (argc == 2 && !strcmp(argv[1], "--inside"))
		return inside();
	if (argc != 2)
		return 2;
	for (size_t r = 0; r < ROUNDS; r++) {
		if (bare_round_trips(bare + r * SAMPLES, SAMPLES) ||
		    round_inside(argv[1], argv[0], &round)) {
			fprintf(stderr, "bench_ioctl: round %zu did not come to its end\n", r);
			return 1;
		}
		memcpy(with_notif + r * SAMPLES, round.with_notif, sizeof round.with_notif);
		memcpy(version_only + r * SAMPLES, round.version_only, sizeof round.version_only);
		memcpy(passed + r * SAMPLES, round.passed, sizeof round.passed);
		memcpy(plain + r * SAMPLES, round.plain, sizeof round.plain);
		ours_us[r] = bench_median(round.with_notif, SAMPLES);
		floor_us[r] = bench_median(bare + r * SAMPLES, SAMPLES);
	}
	bench_begin(&bench, "ioctl", "A trapped ioctl");
	bench_figure(&bench, "trapped ioctl, median", bench_median(with_notif, n), "us", NULL, 0);
	bench_figure(&bench, "the same without arguments to read (GET_VERSION)",
		     bench_median(version_only, n), "us", NULL, 0);
	bench_figure(&bench, "bare round trip of a trapped call, nothing done",
		     bench_median(bare, n), "us", NULL, 0);
	bench_figure(&bench, "trapped ioctl / bare round trip",
		     bench_ratio(ours_us, floor_us, ROUNDS), "x", "at_most", 3);
	bench_figure(&bench, "getppid, not trapped", bench_median(plain, n), "us", NULL, 0);
	bench_series(&bench, "GET_CLOCK_COUNTERS", "us", with_notif, n);
	bench_series(&bench, "GET_VERSION", "us", version_only, n);
	bench_series(&bench, "bare round trip", "us", bare, n);
	bench_series(&bench, "ioctl that passes", "us", passed, n);
	bench_series(&bench, "getppid", "us", plain, n);
	return bench_end(&bench);
}
