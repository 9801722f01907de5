/* SPDX-License-Identifier: MIT */
/*
 * Collection of the metrics: functions that the loop calls at events, and a snapshot once a
 * second for the process that serves HTTP (metrics_share.h, metrics_http.h).
 *
 * Counters of the daemon and of nodes are in memory that outlives the worker (struct shared_state), so
 * that they never decrease. Counters of a client begin with its connection. An action on a
 * client counts for each node where the client has queues, because all queues of a process are
 * suspended by one call.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/daemon/metrics/metrics_text.h"

struct client;
struct worker;

/* Written by the worker, of which there is one at a time; the watchdog keeps the memory. */
struct metrics_saved {
	struct metrics_values all;
	struct metrics_node nodes[METRICS_NODES];
};

/* Counters of one client; zero at the start. */
struct metrics_counts {
	struct metrics_values values;
	uint64_t active_ns[CLIENT_SHM_NODES]; /* time with work, by node of the client */
	uint8_t at
		[CLIENT_SHM_NODES]; /* index in metrics_saved.nodes of each node, as of the last search */
	uint64_t settled_ns;	    /* time up to which the times are counted; 0: none */
};

/* Counts times up to `now`. Called before a client's activity changes and before the client is
 * removed. */
void metrics_settle(struct worker *worker, struct client *client, uint64_t now);

/* An action on the client has ended. */
void metrics_acted(struct worker *worker, struct client *client, bool suspend, bool failed);

/* Adds a latency in ns to the histograms of the client, its nodes and the daemon. */
void metrics_latency(struct worker *worker, struct client *client, enum metrics_latency latency,
		     uint64_t ns);

/* Called in each loop iteration: makes a new snapshot, once a second, if metrics are served. */
void metrics_publish(struct worker *worker, uint64_t now);

#endif
