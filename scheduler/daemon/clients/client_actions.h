/* SPDX-License-Identifier: MIT */
/*
 * Execution of the core's actions on a client, and the state of its debug session.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_ACTIONS_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_ACTIONS_H

#include "scheduler/daemon/worker.h"

/* Starts an action of the core. Returns false if it was cancelled, and the core must decide
 * again. */
bool client_act(struct worker *worker, struct client *client, const struct core_action *action,
		uint64_t now);

/* Sets client->cause_ns of an action that the activity of another client caused. Called after
 * all actions of a decision have been started. */
void client_find_cause(struct worker *worker, struct client *client);

/* An action has ended: reports it to the core, to metrics and to events. */
void client_acted(struct worker *worker, struct client *client,
		  const struct executor_report *report, uint64_t now);

/* The session of an external process has reported an event, or reports events from now on. */
void client_session_changed(struct client *client);

/* Handles the outcomes of the client's executor, if there are any. */
void client_outcome(struct worker *worker, struct client *client, uint64_t now);

#endif
