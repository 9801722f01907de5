/* SPDX-License-Identifier: MIT */
/*
 * A histogram of durations with logarithmic buckets: 32 for each doubling, so a value that is read
 * back is at most 3.2 % too large. Exact below 32. No allocation.
 *
 * Two states of the same histogram at different times can be subtracted (hist_subtract()), which
 * gives the values of the time in between from cumulative counts. Threads: none; the caller
 * serialises all calls.
 */
#ifndef KFDSHIM_COMMON_HISTOGRAM_H
#define KFDSHIM_COMMON_HISTOGRAM_H

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
/* Return the bucket of a value, and the largest value of a bucket. */
unsigned hist_bucket(uint64_t value);
uint64_t hist_bucket_upper(unsigned bucket);
/* Returns the value that the share `p` (0..1) of the values does not exceed, to the precision of
 * the buckets; 0: the histogram is empty. */
uint64_t hist_percentile(const struct hist *h, double p);
/* Adds all values of *more to *h. */
void hist_add_all(struct hist *h, const struct hist *more);
/* Subtracts *earlier, an older state of the same histogram, from *h. The new max is the upper end
 * of the highest bucket that is not empty. */
void hist_subtract(struct hist *h, const struct hist *earlier);

#endif
