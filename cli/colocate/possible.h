/* SPDX-License-Identifier: MIT */
/*
 * Computes the result of a clairvoyant scheduler, which knows all arrivals and service times in
 * advance: the share of its throughput alone that an offline process keeps beside the given
 * requests, and the latencies of these requests. It is the upper bound to which the result of the
 * real scheduler is compared. Pure, but for request_list_read().
 *
 * The model: one node; one server that serves the requests in the order of their arrival; one
 * offline process that always has work, and does not run while a request is served.
 *
 *   - The gap between the end of a request and the next arrival is given to the offline process if
 *     the gap is longer than the cost of a resume, which is subtracted from it.
 *   - The request after such a gap begins later by the cost of a suspend. This delay propagates: to
 *     the requests that wait behind it, and to the gap that becomes shorter.
 *
 * The rule ignores that the next gap becomes shorter. For Poisson arrivals the best threshold,
 * found by trying, gives at most 2 % more of the share.
 *
 * Requests of several online clients form one list, merged by arrival; each service time is that of
 * its client alone. This is conservative: on a GPU two requests of different clients that overlap
 * can run side by side, so that both are done earlier and the gap behind them is longer.
 *
 * Units: microseconds since the start of the window; model time. Threads: any.
 */
#ifndef KFDSHIM_CLI_COLOCATE_POSSIBLE_H
#define KFDSHIM_CLI_COLOCATE_POSSIBLE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* A request as it was measured when the online client ran alone. */
struct request_time {
	double due_us; /* arrival */
	double end_us; /* end; NAN: not done by the end of the window */
};

struct request_list {
	struct request_time *times; /* NULL: none were measured */
	size_t count;
};

/*
 * Reads the request times that kfdreplay --request-times writes (docs/reference/kfdreplay.md).
 * Times must not decrease within a line, nor arrivals from line to line. On success the caller
 * frees the list by request_list_free(); on an error *out is empty.
 *
 * Returns 0, -EINVAL if the file is not as documented, or another negative errno.
 */
int request_list_read(const char *path, struct request_list *out);
/* Frees the list. *list is empty afterwards. */
void request_list_free(struct request_list *list);

struct possible_request {
	double due_us;
	double service_us; /* INFINITY: longer than the rest of the window */
};

struct possible_costs {
	/* Cost of a suspend (runlist update and save): from the arrival until the node is free. */
	double suspend_us;
	/* Cost of a resume (runlist update, restore): from a request's end until offline runs. */
	double resume_us;
};

struct possible {
	double share; /* offline throughput, as a fraction of that without online work; 0 to 1 */
	double p50_us, p99_us; /* latencies, nearest rank; NAN: no request was completed */
	/* Number of suspends: one for each gap that was given to the offline process. */
	uint64_t suspends;
};
#define POSSIBLE_UNKNOWN ((struct possible){NAN, NAN, NAN, 0})

/* Computes the service times of `count` requests of one client, which serves them one by one. A
 * service time lasts from the request's arrival, or from the end of the request before if that is
 * later, until the request's end. Writes `count` entries to `out`. */
void possible_service(const struct request_time *times, size_t count, struct possible_request *out);

/* Sorts the requests of several clients by arrival. */
void possible_merge(struct possible_request *requests, size_t count);

/*
 * Runs the model on `count` requests, sorted by arrival, in a window of `window_us`. Returns 0;
 * -EINVAL if the window is not above 0, or a cost is negative or NAN; *out is POSSIBLE_UNKNOWN
 * then.
 */
int possible_play(const struct possible_request *requests, size_t count, double window_us,
		  const struct possible_costs *costs, struct possible *out);

/* values_sort() sorts in ascending order. values_rank() returns the value of rank `p` (above 0, at
 * most 1) of a sorted array by nearest rank; NAN if the array is empty. */
void values_sort(double *values, size_t count);
double values_rank(const double *sorted, size_t count, double p);

#endif
