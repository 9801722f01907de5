/* SPDX-License-Identifier: MIT */
/*
 * What the daemon tells commands, as JSON (docs/formats.md): the state of all, and
 * all that one workload's lane holds. Lanes are hostile: what is out of range in
 * them is left out, and counted. For the loop's thread; the caller owns what is
 * returned, NULL: no memory.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_STATUS_H
#define KFDSHIM_SCHEDULER_DAEMON_STATUS_H

#include <jansson.h>
#include <stdint.h>

#include "scheduler/daemon/client.h"
#include "scheduler/daemon/worker.h"

/* No call makes more than that of a list, so that none takes long. */
#define STATUS_PIECE 32u

/* All but "processes". */
json_t *status_head(const struct worker *worker, uint64_t now_ns);
/* One of them but its "queues", which are the elements of the lists that status_queues
 * gives until *at, which begins as 0, is LANE_QUEUES. */
json_t *status_client(const struct worker *worker, const struct client *client, uint64_t now_ns);
json_t *status_queues(const struct client *client, uint32_t *at);
/* What of it changes all the time; and how many queues it has on which node. */
json_t *status_client_brief(const struct worker *worker, const struct client *client,
			    uint64_t now_ns);
json_t *status_queue_counts(const struct client *client);
/* dump.c: a lane but its "queues", "unreadable_queues" and "events"; and these. The events
 * are those after number *at, up to `newest`. */
json_t *status_lane(const struct lane *lane, uint64_t now_ns);
json_t *status_lane_queues(const struct lane *lane, uint32_t *at, uint32_t *unreadable);
json_t *status_lane_events(const struct lane *lane, uint64_t *at, uint64_t newest, uint64_t now_ns);

/* about.c: adds to what stands under "daemon". */
void status_about(const struct worker *worker, json_t *daemon);

/* One word: the level at which it can be held back now. */
const char *status_level(const struct client *client, const struct core_view *view);
json_t *status_hex(uint64_t value);
const char *status_queue_type(uint32_t type);
/* Why it runs on while its process is suspended; NULL: it does not. */
const char *status_not_suspendable(const struct lane_queue *queue);
const char *status_runtime(uint32_t state);

#endif
