/* SPDX-License-Identifier: MIT */
/*
 * Calculates the arrival times of requests in an open loop: an endless sequence that depends only
 * on the kind, the rate and the seed. Records when each request arrived, began and ended
 * (docs/reference/kfdreplay.md), and the latencies.
 *
 * Threads: any, one at a time for each struct. Times are model time, in ns from the start of the
 * run.
 */
#ifndef KFDSHIM_TOOLS_KFDREPLAY_ARRIVALS_H
#define KFDSHIM_TOOLS_KFDREPLAY_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bursty arrivals: Poisson in the first part of each period, none in the rest. The rate is the mean
 * over the whole period. */
#define ARRIVALS_BURST_NS 200000000u  /* 200 ms */
#define ARRIVALS_PERIOD_NS 500000000u /* 500 ms */

enum arrivals_kind { ARRIVALS_POISSON, ARRIVALS_FIXED, ARRIVALS_BURSTY, ARRIVALS_RECORDED };

/* Recorded intervals between arrivals. After the last interval the first one is used again. */
struct arrivals_gaps {
	double *ns;
	size_t count; /* > 0 */
	double mean_ns;
};

struct arrivals {
	enum arrivals_kind kind;
	double gap_ns;			  /* mean distance; bursty: within the bursts */
	double at_ns;			  /* time of the last arrival; bursty: pauses not counted */
	uint64_t state;			  /* of the random numbers */
	const struct arrivals_gaps *gaps; /* recorded: not owned, must outlive this struct */
	size_t next;			  /* recorded: index of the next gap */
};

/* Starts a sequence of any kind but ARRIVALS_RECORDED. rate_per_s: mean rate, > 0. */
void arrivals_start(struct arrivals *arrivals, enum arrivals_kind kind, double rate_per_s,
		    uint64_t seed);
/* Starts a sequence of recorded gaps in their order. All gaps are multiplied by one factor, so that
 * their mean gives the rate. Seeds 0 and 1 start with the first gap, other seeds with a random
 * gap. */
void arrivals_start_recorded(struct arrivals *arrivals, const struct arrivals_gaps *gaps,
			     double rate_per_s, uint64_t seed);
/* Returns the next arrival time. The first is one gap after the start. */
uint64_t arrivals_next(struct arrivals *arrivals);

/*
 * Reads recorded intervals from a file (format: docs/reference/kfdreplay.md, "Arrivals"). Returns
 * 0; the caller then frees *out by arrivals_file_free(). On failure returns a negative errno
 * (-EINVAL: error in the content), writes one sentence without a newline to `error`, and leaves
 * *out empty.
 */
int arrivals_file_read(const char *path, struct arrivals_gaps *out, char *error, size_t error_size);
void arrivals_file_free(struct arrivals_gaps *gaps);

/* When each request arrived, began and ended. The memory is allocated and written before the run,
 * so that recording a request costs two stores only. */
struct request_times {
	struct request_span {
		uint64_t due_ns, begin_ns, end_ns; /* end_ns 0: not complete within the window */
	} * spans;
	size_t count, room;
};

/*
 * Allocates memory for the requests that will arrive within `window_ns`, at most `requests` of them
 * (0: no limit). arrivals: the sequence of the run, before its first arrival; it is not changed.
 * Returns 0 or -ENOMEM (also for more than 100 million requests).
 */
int request_times_open(struct request_times *times, const struct arrivals *arrivals,
		       uint64_t window_ns, uint64_t requests);
void request_times_free(struct request_times *times);
/* Records the begin of a request. */
void request_times_begin(struct request_times *times, uint64_t due_ns, uint64_t begin_ns);
/* Records the end of the request that began last. */
void request_times_end(struct request_times *times, uint64_t end_ns);
/* Writes the times as CSV. Returns 0, or -EIO with a sentence in `why`. */
int request_times_write(const struct request_times *times, const char *path, char *why,
			size_t why_size);

/* Latencies of completed requests, in the order of completion. Exact, because all values are stored
 * (8 bytes for each request). The caller zeroes the struct once and ends it by stats_free(). */
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
