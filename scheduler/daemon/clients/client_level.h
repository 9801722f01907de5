/* SPDX-License-Identifier: MIT */
/*
 * The level of each client (how it is held), the reason for the level, and changes.
 *
 * KFDSHIM_LEVEL=auto:
 * - level trap (the daemon opens a debug session on the client) where it works;
 * - otherwise level self, if that can help: the client opens a debug session on itself, for which
 *   no process needs the right to trace it;
 * - otherwise level gate (the client submits no further packets), which always works.
 *
 * The reason why level trap failed is kept, and level trap is tried again after 1 s, then 2 s, 4 s,
 * up to 30 s. An obstacle that can be observed from outside (is the process traced?) is checked
 * once a second. After a suspend that failed, or several that were slow, level trap is not tried
 * again. With any other KFDSHIM_LEVEL a client has the level that it requested, or is only
 * observed, with the reason; level trap is tried again as with auto.
 *
 * Some GPUs support one debug session at a time. The first client that uses such a GPU gets it.
 * When that client was idle for a second, and no session was moved for two seconds, the session
 * goes to a client that has work.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_LEVEL_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_LEVEL_H

#include "scheduler/daemon/worker.h"

/* Initializes the level of a new client. `wanted` is the requested level; it can be any number,
 * because it comes from the client. */
void level_begin(struct client *client, uint32_t wanted);

/* Starts the change to a lower level, or to observation only, because the present level does not
 * work, or does not work any more. why->error: an errno as trap_attach() returns it; -EIO: the
 * firmware failed to preempt or was slow. */
void level_fall(struct worker *worker, struct client *client, const struct reason *why,
		uint64_t now);
/* As level_fall(), for a reason that consists of `code` and `error` only. */
void level_fall_by(struct worker *worker, struct client *client, enum reason_code code, int error,
		   uint64_t now);

/* Starts the change to a lower level where that is possible, because the core does not suspend the
 * client any more. `error`: errno of the suspend that failed; 0: several suspends in a row were
 * slow. */
void level_failed(struct worker *worker, struct client *client, int error, uint64_t now);

/* Records that the client is at level trap: the daemon has opened a debug session on it. */
void level_risen(struct client *client, uint64_t now);

/* Continues the change of the level when the client has carried out HOLD_CMD_PREPARE, or has failed
 * to with `error`. */
void level_prepared(struct worker *worker, struct client *client, int error, uint64_t now);

/* Commands the client to prepare its level again (HOLD_CMD_PREPARE), because it has lost what the
 * level needs. */
void level_again(struct worker *worker, struct client *client);

/* Completes a change of the level, or tries level trap again, if that is due. Called in each sweep
 * (periodic check, loop.c) of the client, between reader_begin() and reader_end(). */
void level_step(struct worker *worker, struct client *client, uint64_t now);

/* Returns true if the client can have another level than the one that it requested. */
bool level_may_change(const struct client *client);

/* Returns true while the level is being changed; the client cannot be held meanwhile. */
bool level_is_changing(const struct client *client);

/* Writes to client->reason why the client has no higher level. Returns false if none is known. */
bool level_explain(struct client *client);

/* Logs the level and its reason and sends an event, only once until the client reaches level
 * trap. */
void level_log(struct worker *worker, struct client *client);

/* Starts to open a debug session of the daemon on the client. `patient` as in executor_start(). */
void client_attach(struct worker *worker, struct client *client, bool patient);

/* Writes to client->reason why the client is not suspended, if no debug session was tried yet. */
void client_explain(struct client *client);

/* Opens a debug session, or updates whether the client can be suspended. Called when the state of
 * its runtime (RUNTIME_ENABLE) has changed. */
void client_runtime_changed(struct worker *worker, struct client *client);

/* Evaluates again whether the client can be suspended. */
void client_reconsider(struct worker *worker, struct client *client);

#endif
