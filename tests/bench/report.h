/* SPDX-License-Identifier: MIT */
/*
 * The result of a benchmark: one JSON object on stdout, in the format that bench_show reads
 * (docs/reference/test-results.md, "make bench").
 *
 *   struct bench b;
 *   bench_begin(&b, "ioctl", "A trapped ioctl");
 *   bench_series(&b, "GET_VERSION", "us", samples, n);       their distribution
 *   bench_figure(&b, "median of a trapped ioctl", value, "us", "at_most", 10);
 *   return bench_end(&b);
 *
 * A bound is set on a ratio to the minimum cost of the same operation, measured alternately with it
 * in the same run, or on a count (instructions, wakes, bytes of memory), but never on a time.
 *
 * Threads: none. After a value that is not a number (NaN, infinite) or a failed allocation
 * bench_end() fails with a line on stderr, because a figure that is missing would not be checked
 * against its bound.
 */
#ifndef KFDSHIM_TESTS_BENCH_REPORT_H
#define KFDSHIM_TESTS_BENCH_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct bench {
	json_t *root;
	bool failed;
};

/* Begins the result. `name`: the benchmark; `title`: headline of its plot. */
void bench_begin(struct bench *bench, const char *name, const char *title);
/* Adds a distribution. Sorts the samples (at least one) and stores 201 of them, evenly spread over
 * the ranks. */
void bench_series(struct bench *bench, const char *name, const char *unit, double *samples,
		  size_t n);
/* Adds one figure. `bound`: "at_most", "at_least" or NULL (none; `limit` is ignored). */
void bench_figure(struct bench *bench, const char *name, double value, const char *unit,
		  const char *bound, double limit);
/* returns the median, 0 without samples; sorts the samples */
double bench_median(double *samples, size_t n);
/* Returns the median of a[i] / b[i]. The two samples of a pair are measured one after the other, so
 * that a slow machine slows both down and a bound on the ratio holds on any machine. Returns NaN if
 * there is no memory. */
double bench_ratio(const double *a, const double *b, size_t n);
/* Prints the result and frees it. Returns the exit status of the program: 0, or 1 on a failure. */
int bench_end(struct bench *bench);

#endif
