/* SPDX-License-Identifier: MIT */
/*
 * Latencies of completed requests, in the order of completion. Pure; exact:
 * all of them are kept (8 bytes a request).
 */
#ifndef KFDSHIM_REPLAY_STATS_H
#define KFDSHIM_REPLAY_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stats {
	uint64_t *latency_ns;
	size_t count, room;
};

struct stats_summary {
	double mean_us, p50_us, p90_us, p99_us, p999_us, max_us; /* 0 where nothing completed */
};

int stats_add(struct stats *stats, uint64_t latency_ns); /* -ENOMEM */
void stats_free(struct stats *stats);
/* Percentiles by nearest rank. -ENOMEM. */
int stats_summarise(const struct stats *stats, struct stats_summary *out);

/*
 * Did the open loop keep up with its arrivals? `arrived` counts those within
 * the run, completed or not; `arrived` - count is the backlog at its end.
 *
 * False, if
 *  - fewer than a tenth of the arrivals completed (none at all included), or
 *  - the backlog at the end is more than 5 requests and more than a tenth of
 *    the arrivals, and it grew throughout: the median latency of the last
 *    quarter of the completed requests is more than 1.5 times that of the
 *    second quarter. With fewer than 8 completed there are no quarters to
 *    compare, and the backlog alone decides.
 * Under a steady overload latency grows with the request's number, so the two
 * medians stand as 7 to 3 in a long run and still above 1.5 where the service
 * time is a good part of them. A backlog that was there from the beginning,
 * or a burst that is being worked off, passes. An overload of less than a
 * ninth (arrivals to what can be served) counts as kept up.
 */
bool stats_keeps_up(const struct stats *stats, uint64_t arrived);

#endif
