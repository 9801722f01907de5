/* SPDX-License-Identifier: MIT */
/*
 * The life of a client. client_life.c: from its slot to its end, and what other modules need at any
 * time in between, which is commands to it and permission for the calls that it has announced.
 * registration.c: its registration, and what is due for it later. client_actions.c: the actions of
 * the core on it, and the state of its debug session.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_LIFE_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_LIFE_H

#include "scheduler/daemon/worker.h"

/* Creates a client in a free slot. Takes ownership of `socket` on success. Returns NULL if there is
 * no slot or no memory. */
struct client *client_new(struct worker *worker, int socket, uint64_t now);

/* Makes the client a workload (CLIENT_SERVED); the core must know it already. */
void client_served(struct worker *worker, struct client *client);

/* Returns the number that identifies the client as the `asker` of reader_begin(). */
uint64_t client_asker(const struct client *client);

/* Writes to `why` the reason why the driver can never open a debug session on the client's runtime:
 * what the driver lacks, or `code` with the errno in the shared memory. */
void client_why_never(const struct client *client, enum reason_code code, struct reason *why);

/* Records that the client cannot be held at its level, because of `why`; logs it, sends an
 * event. */
void client_cannot(struct worker *worker, struct client *client, const struct reason *why);

/* Sends a reply to a command (connection with a request): 0 or a negative errno, and a sentence.
 * client_reply() also ends the command. */
void client_send_status(struct client *client, int status, const char *text);
void client_reply(struct worker *worker, struct client *client, int status, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Sends the client a hold command: to hold, release or prepare itself (`what` is HOLD_CMD_*). */
void client_command(struct client *client, enum client_shm_level level, uint32_t what,
		    uint64_t now);

/* Reads from the shared memory which calls the client has announced that a suspension would block.
 * Returns true if that has changed; the client is then in worker->releasing. */
bool client_scan_teardown(struct worker *worker, struct client *client);

/* Permits the announced calls of each client in worker->releasing that is not suspended: publishes
 * shm->teardown_granted, wakes its waiters, and removes the client from the list. */
void client_release_all(struct worker *worker, uint64_t now);

/* Ends a client: removes it from the core and from all lists. `why` completes a log line;
 * NULL: nothing is logged. The struct stays valid until client_free(). */
void client_gone(struct worker *worker, struct client *client, const char *why);

/* Frees a client after client_gone(), when no event in the current loop iteration can refer to
 * it. */
void client_free(struct worker *worker, struct client *client);

/* ---- registration: from an admitted connection to a workload that the core knows, or to a command
 * whose request is handled ---- */

/* Creates a client for an admitted connection and handles its hello. Takes ownership of its socket,
 * also if it fails. */
void client_accept(struct worker *worker, const struct admitted *admitted, uint64_t now);

/* Continues what waits for an answer of kfdschedd-read to `asker` (client_asker()), which has
 * arrived (reader_replied()). */
void client_replied(struct worker *worker, uint64_t asker, uint64_t now);

/* Handles that the peer has closed the connection. A command (connection with a request) ends then.
 * The process of a workload may still live, so the daemon checks from now on whether it runs
 * another program. */
void client_hung_up(struct worker *worker, struct client *client, uint64_t now);

/* Does all that is due for the client. Called in each sweep of the client (loop.c: every 20 ms,
 * with more than 256 clients less often), and when an answer has arrived. */
void client_overdue(struct worker *worker, struct client *client, uint64_t now);

/* ---- actions and the debug session ---- */

/* Starts an action (suspend or resume) that the core has decided. Returns false if it was
 * cancelled, so that the core must decide again. */
bool client_act(struct worker *worker, struct client *client, const struct core_action *action,
		uint64_t now);

/* Sets client->cause_ns of an action that the activity of another client caused. Called after
 * all actions of a decision have been started. */
void client_find_cause(struct worker *worker, struct client *client);

/* Reports the end of an action to the core, to metrics and to events. */
void client_acted(struct worker *worker, struct client *client,
		  const struct executor_report *report, uint64_t now);

/* Marks the queues of an external process to be read again, and updates the state of its runtime.
 * Called when its debug session has reported an event, or begins to report events. */
void client_session_changed(struct client *client);

/* Handles the outcomes (enum executor_outcome) of the client's executor, if there are any. */
void client_outcome(struct worker *worker, struct client *client, uint64_t now);

#endif
