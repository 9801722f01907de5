// SPDX-License-Identifier: MIT
/*
 * What a trapped ioctl costs: GET_CLOCK_COUNTERS (arguments copied
 * in and back) and GET_VERSION (back only) on the simulated device, beside an
 * ioctl that the filter lets through and a bare system call, in turns.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "bench/figures.h"
#include "common/clock.h"
#include "conform/lab.h"

#define SAMPLES 20000u

static double trapped[SAMPLES], version_only[SAMPLES], passed[SAMPLES], bare[SAMPLES];

static double us_since(uint64_t start_ns)
{
	return (double)(clock_ns() - start_ns) / 1000.0;
}

int main(void)
{
	struct kfd_ioctl_get_clock_counters_args clocks = {0};
	struct kfd_ioctl_get_version_args version;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	double median, reference;
	struct termios terminal;
	struct gpu_file gpu;
	struct bench bench;

	gpu_open(&gpu);
	for (unsigned i = 0; i < SAMPLES; i++) {
		uint64_t start = clock_ns();

		clocks.gpu_id = gpu.gpu_id;
		if (lab_ioctl(gpu.kfd, KFDABI_GET_CLOCK_COUNTERS, &clocks, sizeof clocks))
			return 1;
		trapped[i] = us_since(start);
		start = clock_ns();
		if (ioctl(gpu.kfd, KFDABI_IOC_GET_VERSION, &version))
			return 1;
		version_only[i] = us_since(start);
		start = clock_ns();
		ioctl(null, TCGETS, &terminal); /* of another type: not trapped */
		passed[i] = us_since(start);
		start = clock_ns();
		syscall(SYS_getppid);
		bare[i] = us_since(start);
	}
	bench_begin(&bench, "ioctl", "A trapped ioctl");
	median = bench_median(trapped, SAMPLES);
	reference = bench_median(bare, SAMPLES);
	bench_figure(&bench, "trapped ioctl, median", median, "us", "at_most", 10);
	bench_figure(&bench, "the same without arguments to read (GET_VERSION)",
		     bench_median(version_only, SAMPLES), "us", NULL, 0);
	bench_figure(&bench, "bare getppid, median", reference, "us", NULL, 0);
	bench_figure(&bench, "trapped ioctl / getppid", median / reference, "x", NULL, 0);
	bench_series(&bench, "GET_CLOCK_COUNTERS", "us", trapped, SAMPLES);
	bench_series(&bench, "ioctl that passes", "us", passed, SAMPLES);
	bench_series(&bench, "getppid", "us", bare, SAMPLES);
	return bench_end(&bench);
}
