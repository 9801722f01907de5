// SPDX-License-Identifier: MIT
#include "common/histogram.h"

#include <math.h>
#include <stdlib.h>

/* Each range from 2^n to 2^(n+1) has SUB buckets of equal width: the bucket of a value is given by
 * its highest bit and by the SUB_BITS bits below that. */
#define SUB_BITS 5u
#define SUB (1u << SUB_BITS)

unsigned hist_bucket(uint64_t value)
{
	if (value < SUB)
		return (unsigned)value;
	unsigned top = 63u - (unsigned)__builtin_clzll(value);
	unsigned shift = top - SUB_BITS;

	return (shift + 1) * SUB + (unsigned)((value >> shift) - SUB);
}

uint64_t hist_bucket_upper(unsigned bucket)
{
	if (bucket < SUB)
		return bucket;
	unsigned shift = bucket / SUB - 1;
	uint64_t base = (uint64_t)(SUB + bucket % SUB) << shift;

	return base + ((UINT64_C(1) << shift) - 1);
}

void hist_add(struct hist *h, uint64_t value)
{
	h->count++;
	h->sum += value;
	if (value > h->max)
		h->max = value;
	h->buckets[hist_bucket(value)]++;
}

uint64_t hist_percentile(const struct hist *h, double p)
{
	if (h->count == 0)
		return 0;
	uint64_t rank = (uint64_t)ceil(p * (double)h->count);
	uint64_t seen = 0;

	if (rank == 0)
		rank = 1;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		seen += h->buckets[i];
		if (seen >= rank) {
			uint64_t upper = hist_bucket_upper(i);

			return upper < h->max ? upper : h->max;
		}
	}
	return h->max;
}

void hist_add_all(struct hist *h, const struct hist *more)
{
	h->count += more->count;
	h->sum += more->sum;
	if (more->max > h->max)
		h->max = more->max;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		h->buckets[i] += more->buckets[i];
}

void hist_subtract(struct hist *h, const struct hist *earlier)
{
	h->count -= earlier->count;
	h->sum -= earlier->sum;
	h->max = 0;
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		h->buckets[i] -= earlier->buckets[i];
		if (h->buckets[i] != 0)
			h->max = hist_bucket_upper(i);
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void values_sort(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
}

double values_rank(const double *sorted, size_t count, double p)
{
	size_t rank = (size_t)ceil(p * (double)count);

	return count ? sorted[rank ? rank - 1 : 0] : NAN;
}
