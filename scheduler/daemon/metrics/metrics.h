/* SPDX-License-Identifier: MIT */
/*
 * Collection of the metrics: functions that the loop calls when something happens, and a snapshot
 * once a second for the process that serves HTTP (metrics_http.h).
 *
 * Counters of the daemon and of nodes are in memory that outlives the worker (struct shared_state),
 * so that they never decrease. Counters of a client begin with its connection. An action on a
 * client counts for each node where the client has queues, because all queues of a process are
 * suspended by one call.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_H

#include "scheduler/daemon/worker.h"

/* Counts the time in which the client had work, up to `now`. Called before its activity changes. */
void metrics_settle_work(struct worker *worker, struct client *client, uint64_t now);
/* Counts all times of a client up to `now`. Called before the client has a further node, before it
 * is removed, and for each snapshot (metrics_publish()). */
void metrics_settle(struct worker *worker, struct client *client, uint64_t now);

/* Counts an ended action on the client: as a suspend, as a resume, or as a failed action. */
void metrics_acted(struct worker *worker, struct client *client, bool suspend, bool failed);

/* Adds a latency in ns to the histograms of the client, its nodes and the daemon. */
void metrics_latency(struct worker *worker, struct client *client, enum metrics_latency latency,
		     uint64_t ns);

/* Makes a new snapshot of the metrics, once a second, if metrics are served. Called in each loop
 * iteration. */
void metrics_publish(struct worker *worker, uint64_t now);

#endif
