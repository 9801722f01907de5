/* SPDX-License-Identifier: MIT */
/*
 * A histogram of durations with 32 buckets for each power of two, so a value that is read back is
 * at most 3.2 % too large; values below 32 are exact. Allocates nothing.
 *
 * If a histogram only grows, hist_subtract() of an earlier state from a later one gives the values
 * that were added in between. Threads: none; the caller serialises all calls.
 */
#ifndef KFDSHIM_COMMON_HISTOGRAM_H
#define KFDSHIM_COMMON_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HIST_BUCKETS 1920u /* up to 2^64 - 1 */

struct hist {
	uint64_t count; /* number of values */
	uint64_t sum;	/* sum of the values */
	uint64_t max;
	uint64_t buckets[HIST_BUCKETS]; /* number of values in each bucket */
};

/* Adds a value. */
void hist_add(struct hist *h, uint64_t value);
/* hist_bucket() returns the bucket of a value, hist_bucket_upper() the largest value of a
 * bucket. */
unsigned hist_bucket(uint64_t value);
uint64_t hist_bucket_upper(unsigned bucket);
/* Returns the value that the share `p` (0..1) of all values does not exceed, rounded up to the end
 * of its bucket but not above the largest value. Returns 0 if the histogram is empty. */
uint64_t hist_percentile(const struct hist *h, double p);
/* Adds all values of *more to *h. */
void hist_add_all(struct hist *h, const struct hist *more);
/* Subtracts *earlier, an older state of the same histogram, from *h. The new max is the upper end
 * of the highest bucket that is not empty. */
void hist_subtract(struct hist *h, const struct hist *earlier);

/* For values that are all kept: values_sort() sorts in ascending order. values_rank() returns the
 * value of rank `p` (0 to 1) of a sorted array by nearest rank; NAN if the array is empty. */
void values_sort(double *values, size_t count);
double values_rank(const double *sorted, size_t count, double p);

#endif
