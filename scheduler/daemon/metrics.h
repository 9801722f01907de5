/* SPDX-License-Identifier: MIT */
/*
 * What the metrics are counted from: hooks of the loop, and a picture of it all once a
 * second for the process that serves HTTP (metrics_share.h, metrics_http.h).
 *
 * What is counted of the daemon and of nodes stands in memory that outlives the worker
 * (beat.h), so that those counters never go back; a client's begin with its connection.
 * A node counts an action on a client if the client has queues there: all of a process
 * are suspended by one call.
 *
 * All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/daemon/metrics_text.h"

struct client;
struct worker;

/* Written by the worker, one at a time; kept by the watchdog. */
struct metrics_kept {
	struct metrics_figures all;
	struct metrics_node nodes[METRICS_NODES];
};

/* Of one client; begins as zeros. */
struct metrics_tally {
	struct metrics_figures figures;
	uint64_t active_ns[LANE_NODES];
	uint8_t at
		[LANE_NODES]; /* where the node stands in metrics_kept, when it was last looked for */
	uint64_t settled_ns;
};

/* Brings the times up to `now`: before a client's activity changes, and before it goes. */
void metrics_settle(struct worker *worker, struct client *client, uint64_t now);
/* An action ended. */
void metrics_acted(struct worker *worker, struct client *client, bool suspend, bool failed);
void metrics_latency(struct worker *worker, struct client *client, enum metrics_latency latency,
		     uint64_t ns);
/* At every turn of the loop: a new picture, if it is time and anybody can ask for it. */
void metrics_publish(struct worker *worker, uint64_t now);

#endif
