/* SPDX-License-Identifier: MIT */
/*
 * The measured run: requests one after the other, in order, through one queue.
 *
 * Closed loop: a request begins when the previous one is complete. Open loop: requests arrive by
 * their own schedule and wait for their turn; their latency counts from the scheduled arrival.
 *
 * Times: options.seconds is wall time. Rates, latencies and result.seconds are model time = wall
 * time x scale (scale is 1 on hardware).
 *
 * The window of measurement ends after options.requests requests, after options.seconds, or at
 * SIGTERM or SIGINT. A request that runs at the end of the seconds does not count as completed. It
 * gets 10 s more to finish, so that it is not cut off. After a signal the current request gets 1 s
 * in which it still counts. A request that has not finished by then is given up (stop_queue()).
 *
 * Threads: the caller's only.
 */
#ifndef KFDSHIM_TOOLS_KFDREPLAY_RUN_H
#define KFDSHIM_TOOLS_KFDREPLAY_RUN_H

#include "tools/kfdreplay/arrivals.h"
#include "tools/kfdreplay/rt.h"

struct run_options {
	bool open_loop;
	double rate_per_s;	     /* open loop: mean rate, in model time */
	struct arrivals arrivals;    /* open loop: started sequence, before its first arrival */
	struct request_times *times; /* open loop: receives the times; NULL: not recorded */
	bool spaced;		     /* submit operations no earlier than recorded */
	bool count;		     /* check the cells (workgroup counters); as for prepare() */
	uint64_t requests;	     /* end of the window; 0: no limit */
	double seconds;		     /* end of the window, wall time; 0: no limit */
	double scale;		     /* model time / wall time, > 0 */
	/* fds to synchronise with another process; -1: none. When everything is ready, one byte is
	 * written to sync_write. The run begins after a byte or end of file on sync_read. */
	int sync_read, sync_write;
};

struct run_result {
	struct stats stats; /* completed requests; freed by the caller */
	uint64_t arrived;   /* requests that arrived within the window */
	double seconds;	    /* length of the window, model time */
	double steps;	    /* completed requests, plus the finished share of a request given up */
	double busy_ns;	    /* recorded GPU time of the completed requests */
	bool keeps_up;	    /* see stats_keeps_up(); closed loop: true */
	struct {
		uint64_t submitted, executed, twice, never; /* workgroups */
	} count;
};

/* Makes the first SIGTERM or SIGINT end the run. A second one ends the process. */
void run_catch_signals(void);
/* Runs the requests of the plan until the window ends, and stores the results in *out. */
void run(struct rt *rt, const struct plan *plan, const struct run_options *options,
	 struct run_result *out);

#endif
