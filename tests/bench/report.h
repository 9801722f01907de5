/* SPDX-License-Identifier: MIT */
/*
 * What a benchmark tells: one JSON object on stdout, in the form that
 * bench_show reads (docs/formats.md, "make bench").
 *
 *   struct bench b;
 *   bench_begin(&b, "ioctl", "A trapped ioctl");
 *   bench_series(&b, "GET_VERSION", "us", samples, n);       their distribution
 *   bench_figure(&b, "median of a trapped ioctl", value, "us", "at_most", 10);
 *   return bench_end(&b);
 *
 * A bound is on a ratio to the least that the same thing could cost, measured in the same run
 * in turns with it, or on a count (instructions, wakes, bytes of memory); never on a time.
 *
 * Threads: none. A value that is no number (NaN, infinite) and a failed allocation
 * make bench_end() fail, with a sentence on stderr: a figure that was left out would
 * take its bound with it.
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

void bench_begin(struct bench *bench, const char *name, const char *title);
/* Sorts the samples, of which there is at least one; keeps 201 of them, evenly spread over the ranks. */
void bench_series(struct bench *bench, const char *name, const char *unit, double *samples,
		  size_t n);
/* One figure; `bound` is "at_most", "at_least" or NULL (none). */
void bench_figure(struct bench *bench, const char *name, double value, const char *unit,
		  const char *bound, double limit);
double bench_median(double *samples, size_t n); /* sorts them */
/* Of pairs that were measured in turns: the median of a[i] / b[i]. What slows the machine
 * down slows both of a pair, so a bound on it holds on any day. NaN: no memory. */
double bench_ratio(const double *a, const double *b, size_t n);
int bench_end(struct bench *bench); /* prints, frees; an exit status */

#endif
