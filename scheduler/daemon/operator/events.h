/* SPDX-License-Identifier: MIT */
/*
 * Events report what the daemon does, and why. They are sent to commands as they happen
 * (PROTOCOL_EVENTS), one JSON object in each packet (docs/reference/events.md). An event contains
 * nothing that the status does not show, and a user that can read the status can read events. The
 * last EVENTS_MAX events are kept for later queries (PROTOCOL_RECENT).
 *
 * If a reader (a command that receives events) does not read its socket, it loses events and
 * receives their number instead; the daemon never waits for a reader. JSON is generated only if
 * there are readers.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OPERATOR_EVENTS_H
#define KFDSHIM_SCHEDULER_DAEMON_OPERATOR_EVENTS_H

#include <jansson.h>

#include "scheduler/daemon/worker.h"

#define EVENTS_READERS 16u /* at a time */
#define EVENTS_MAX 256u	   /* events; a power of two */
#define EVENTS_PIECE 32u   /* maximum number of events in a call, so that no call takes long */

/* Makes the client a reader (CLIENT_READING). Returns 0; -EUSERS: too many readers, in total or
 * of its user; or an error of the socket. */
int events_subscribe(struct worker *worker, struct client *client);

/* Sends the reader the number of events that it has lost, if it has lost any. Returns false if that
 * number has still to be sent. Also called in each sweep (periodic check, loop.c). */
bool events_overdue(struct client *client);

/* Subtracts one from the number of readers, because a reader has ended. */
void events_gone(void);

/* Returns the number of the last event. */
uint64_t events_newest(void);

/* Returns the kept events after number *at up to `newest` as a JSON array, at most EVENTS_PIECE
 * at a time, and advances *at. The caller repeats the call until *at is `newest`, and owns the
 * array. */
json_t *events_recent(uint64_t *at, uint64_t newest);

/* Determines the reason of an action of the core that was just started, and keeps it in
 * client->pending_event. */
void events_decided(struct worker *worker, struct client *client, uint64_t now);

/* Sends the event that an action, a suspend or a resume, has ended. */
void events_acted(struct worker *worker, const struct client *client,
		  const struct executor_report *report);

/* Sends the event that a workload (process with the shim) has registered, or an external process
 * was given a priority. */
void events_came(struct worker *worker, const struct client *client);

/* Sends the event that a workload (CLIENT_SERVED) has ended; `why` completes a sentence. */
void events_went(struct worker *worker, const struct client *client, const char *why);

/* Sends the event that the level of the client has changed. `able`: it can be suspended; otherwise
 * client->reason says why not. */
void events_level(struct worker *worker, const struct client *client, bool able);

/* Sends the event that the effective priority (the one in force) has changed. `by` is the command
 * that requested it; NULL: the workload itself, or the daemon. */
void events_priority(struct worker *worker, const struct client *client, const struct client *by);

/* Sends the event that a suspension by request (a lease, see lease.h) has begun or ended, as
 * client->control.leased says. */
void events_lease(struct worker *worker, const struct client *client);

/* Sends the event that the request `by` has set the policy of a node (gpu_id 0: of all nodes
 * without their own). */
void events_policy(struct worker *worker, uint32_t gpu_id, const struct core_policy *policy,
		   const struct client *by);

#endif
