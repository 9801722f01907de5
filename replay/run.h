/* SPDX-License-Identifier: MIT */
/*
 * The measured run: requests one after another, in order, through one queue.
 *
 * Closed loop: the next request begins when the last one is done. Open loop:
 * requests arrive by a schedule of their own, wait for their turn, and their
 * latency counts from the scheduled arrival.
 *
 * Times: `seconds` is wall time. Rates, latencies and the result's seconds are
 * model time = wall time x scale (scale 1 on hardware).
 *
 * The window ends after so many requests, or so many seconds, or at SIGTERM or
 * SIGINT. What is under way at the end of the seconds is not among the
 * completed requests; it is left 10 s more to run dry, so that nothing is cut
 * off in the middle. After a signal it has 1 s in which it still counts. What
 * has not run by then is taken off the GPU with its queue.
 */
#ifndef KFDSHIM_REPLAY_RUN_H
#define KFDSHIM_REPLAY_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/arrivals.h"
#include "replay/plan.h"
#include "replay/request_times.h"
#include "replay/rt.h"
#include "replay/stats.h"

struct run_options {
	bool open_loop;
	double rate_per_s;	     /* open loop, model time */
	struct arrivals arrivals;    /* open loop: started */
	struct request_times *times; /* open loop: filled; NULL: not kept */
	bool spaced;		     /* submit no earlier than recorded */
	bool count;		     /* prepare() was told the same */
	uint64_t requests;	     /* 0: no limit */
	double seconds;		     /* 0: no limit */
	double scale;		     /* > 0 */
	int sync_read, sync_write;   /* -1: none; when ready, one byte is written to the
	                              latter, and the run begins after a byte or the end
	                              of the file on the former */
};

struct run_result {
	struct stats stats; /* completed requests; the caller frees it */
	uint64_t arrived;
	double seconds;
	double steps;	/* completed, and the finished share of the one under way */
	double busy_ns; /* recorded GPU time of the completed requests */
	bool keeps_up;
	struct {
		uint64_t submitted, executed, twice, never; /* workgroups */
	} count;
};

/* From now on SIGTERM and SIGINT end the run; a second one ends the process. */
void run_catch_signals(void);
/* Returns a negative errno and a sentence in rt->why. */
int run(struct rt *rt, const struct plan *plan, const struct run_options *options,
	struct run_result *out);

#endif
