/* SPDX-License-Identifier: MIT */
/*
 * Registration: from an admitted connection to a workload that the core knows, or to a command
 * whose request is handled; and what is due for each client later.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_REGISTRATION_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_REGISTRATION_H

#include "scheduler/daemon/worker.h"

/* Creates a client for an admitted connection and handles its hello. Takes ownership of its socket,
 * also if it fails. */
void client_accept(struct worker *worker, const struct admitted *admitted, uint64_t now);

/* An answer of kfdschedd-read for `asker` has arrived (reader_replied()): runs the code again
 * that waits for it. */
void client_replied(struct worker *worker, uint64_t asker, uint64_t now);

/* The peer has closed the connection. A command ends; a workload may still live. */
void client_hung_up(struct worker *worker, struct client *client, uint64_t now);

/* Called in each sweep of the client (loop.c: every 20 ms, with more than 256 clients less often),
 * and when an answer has arrived: does all that is overdue. */
void client_overdue(struct worker *worker, struct client *client, uint64_t now);

#endif
