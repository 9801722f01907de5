// SPDX-License-Identifier: MIT
#include "tools/kfdreplay/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

int stats_add(struct stats *stats, uint64_t latency_ns)
{
	if (ARRAY_GROW(stats->latency_ns, stats->room, stats->count + 1))
		return -ENOMEM;
	stats->latency_ns[stats->count++] = latency_ns;
	return 0;
}

void stats_free(struct stats *stats)
{
	free(stats->latency_ns);
	*stats = (struct stats){0};
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns a sorted copy, or NULL if there is no memory or count is 0. */
static uint64_t *sorted(const uint64_t *values, size_t count)
{
	uint64_t *copy = count ? malloc(count * sizeof(*copy)) : NULL;

	if (copy) {
		memcpy(copy, values, count * sizeof(*copy));
		qsort(copy, count, sizeof(*copy), compare);
	}
	return copy;
}

static double rank_us(const uint64_t *values, size_t count, double p)
{
	size_t rank = (size_t)ceil(p * (double)count);

	return (double)values[rank ? rank - 1 : 0] / 1e3;
}

int stats_summarise(const struct stats *stats, struct stats_summary *out)
{
	size_t n = stats->count;
	uint64_t *values;
	double sum = 0;

	*out = (struct stats_summary){0};
	if (n == 0)
		return 0;
	values = sorted(stats->latency_ns, n);
	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sum += (double)values[i];
	*out = (struct stats_summary){
		.mean_us = sum / (double)n / 1e3,
		.p50_us = rank_us(values, n, 0.5),
		.p90_us = rank_us(values, n, 0.9),
		.p99_us = rank_us(values, n, 0.99),
		.p999_us = rank_us(values, n, 0.999),
		.max_us = rank_us(values, n, 1.0),
	};
	free(values);
	return 0;
}

/* Returns the median, or 0 if there is no memory for a sorted copy. That error is not reported
 * here, because stats_summarise(), which needs more memory, fails then, too. */
static double median(const uint64_t *values, size_t count)
{
	uint64_t *copy = sorted(values, count);
	double result = copy ? rank_us(copy, count, 0.5) : 0;

	free(copy);
	return result;
}

bool stats_keeps_up(const struct stats *stats, uint64_t arrived)
{
	size_t n = stats->count, quarter = n / 4;
	uint64_t backlog = arrived > n ? arrived - n : 0;

	if ((double)n * 10 < (double)arrived)
		return false;
	if (backlog <= 5 || (double)backlog * 10 <= (double)arrived)
		return true;
	if (n < 8)
		return false;
	return median(stats->latency_ns + n - quarter, quarter) <=
	       1.5 * median(stats->latency_ns + quarter, quarter);
}
