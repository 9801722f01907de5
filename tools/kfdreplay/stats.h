/* SPDX-License-Identifier: MIT */
/*
 * Latencies of completed requests, in the order of completion. Exact, because all values are stored
 * (8 bytes for each request).
 *
 * Pure. Threads: any, one at a time for each struct. Ownership: the caller zeroes a struct stats
 * once and ends it by stats_free().
 */
#ifndef KFDSHIM_TOOLS_KFDREPLAY_STATS_H
#define KFDSHIM_TOOLS_KFDREPLAY_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stats {
	uint64_t *latency_ns;
	size_t count, room;
};

struct stats_summary {
	double mean_us, p50_us, p90_us, p99_us, p999_us, max_us; /* 0 if no request completed */
};

int stats_add(struct stats *stats, uint64_t latency_ns); /* returns 0 or -ENOMEM */
void stats_free(struct stats *stats);
/* Computes mean and percentiles (by nearest rank). Returns 0 or -ENOMEM. */
int stats_summarise(const struct stats *stats, struct stats_summary *out);

/*
 * Checks whether an open loop kept up with its arrivals.
 * arrived: number of arrivals within the run, completed or not. arrived - count is the backlog at
 * its end.
 *
 * Returns false if
 *  - fewer than a tenth of the arrivals completed (or none at all), or
 *  - the backlog at the end is more than 5 requests and more than a tenth of the arrivals, and it
 *    grew throughout: the median latency of the last quarter of the completed requests is more than
 *    1.5 times that of the second quarter. If fewer than 8 completed, there are no quarters to
 *    compare, and the backlog alone decides.
 *
 * Under a steady overload the latency grows in proportion to the request's number. The ratio of the
 * two medians is then 7 to 3 in a long run, and still above 1.5 if the service time is a good part
 * of the latency. A backlog that existed from the beginning, or a burst that is being worked off,
 * does not make the result false. An overload of less than a ninth (arrivals relative to what can
 * be served) counts as kept up.
 */
bool stats_keeps_up(const struct stats *stats, uint64_t arrived);

#endif
