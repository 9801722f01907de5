/* SPDX-License-Identifier: MIT */
/*
 * A histogram of durations with logarithmic buckets: 32 to each doubling, so a
 * value read back is at most 3.2 % too large. Exact below 32. No allocation.
 *
 * Threads: none; the caller guards it. Two histograms of the same source taken
 * at different times can be subtracted (hist_subtract), which is how a reader
 * gets the figures of one span from cumulative counts.
 */
#ifndef KFDSHIM_COMMON_HIST_H
#define KFDSHIM_COMMON_HIST_H

#include <stdint.h>

#define HIST_BUCKETS 1920u /* up to 2^64 - 1 */

struct hist {
	uint64_t count;
	uint64_t sum;
	uint64_t max;
	uint64_t buckets[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t value);
/* The bucket a value falls in, and the largest value of a bucket. */
unsigned hist_bucket(uint64_t value);
uint64_t hist_bucket_upper(unsigned bucket);
/* The value below which the share `p` (0..1) of the values lies; 0 if empty. */
uint64_t hist_percentile(const struct hist *h, double p);
/* *h += *more. */
void hist_add_all(struct hist *h, const struct hist *more);
/* *h -= *earlier, an older state of the same histogram; max becomes the upper
 * end of the highest bucket left. */
void hist_subtract(struct hist *h, const struct hist *earlier);

#endif
