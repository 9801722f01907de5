/* SPDX-License-Identifier: MIT */
/*
 * What is possible: the share of its throughput alone that an offline process could keep
 * beside given requests, and the latencies of those requests then, if the scheduler knew
 * all arrivals and service times in advance (a clairvoyant scheduler, to which a real one is
 * compared). Pure.
 *
 * The model: one node; one server that serves the requests in the order of their arrival; an
 * offline process that always has work, and has no part of the node while a request is served.
 *
 *   - The gap between the end of a request and the next arrival is given to the offline
 *     process if it is longer than the cost of a resume, which comes off it.
 *   - The request after such a gap begins later by the cost of a suspend. What this delays is
 *     played on: the requests that wait behind it, and the gap that is shorter for it.
 *
 * The rule takes no account of that shorter gap. For Poisson arrivals the best threshold, found
 * by trying, gives at most 2 % more of the share.
 *
 * Requests of several online clients are one list, merged by arrival; each service time is that
 * of its client alone. This is conservative: on a GPU two requests of different clients that
 * overlap may run side by side, so that both are done earlier and the gap behind them is longer.
 *
 * Units: microseconds from the start of the window on; model time. Threads: any.
 */
#ifndef KFDSHIM_CLI_POSSIBLE_H
#define KFDSHIM_CLI_POSSIBLE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* As measured where the online client was alone. */
struct request_time {
	double due_us; /* its arrival */
	double end_us; /* NAN: it was not done by the end of the window */
};

struct possible_request {
	double due_us;
	double service_us; /* INFINITY: it lasts beyond the end of the window */
};

struct possible_costs {
	double suspend_us; /* a bounce and a save: from the arrival to the node's being free */
	double resume_us;  /* a bounce and a restore: from the end to offline work */
};

struct possible {
	double share;	       /* of offline's throughput alone */
	double p50_us, p99_us; /* latencies, by nearest rank; NAN: no request was completed */
	uint64_t suspends;
};
#define POSSIBLE_UNKNOWN ((struct possible){NAN, NAN, NAN, 0})

/* The service time of each request of one client, which served them one by one: from its
 * arrival, or from the end of the request before it if that is later. Writes `count` to `out`. */
void possible_service(const struct request_time *times, size_t count, struct possible_request *out);

/* Puts the requests of several clients in the order of their arrival. */
void possible_merge(struct possible_request *requests, size_t count);

/* `requests`: sorted by arrival, `count` of them. 0; -ENOMEM; -EINVAL: the window is not above
 * 0, or a cost is negative or not known (NAN). */
int possible_play(const struct possible_request *requests, size_t count, double window_us,
		  const struct possible_costs *costs, struct possible *out);

/* In ascending order; and the value of rank `p` (0..1) in it, by nearest rank, NAN: there is none. */
void values_sort(double *values, size_t count);
double values_rank(const double *sorted, size_t count, double p);

#endif
