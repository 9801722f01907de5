/* SPDX-License-Identifier: MIT */
/*
 * Replies to commands that query the state (PROTOCOL_QUERY) or the last events (PROTOCOL_RECENT).
 *
 * The state of a thousand clients is 50 ms of JSON. So a reply is made in pieces: for 0.2 ms in a
 * loop iteration (1 ms for root), then with a pause of 1 ms. Each piece is sent at once. The next
 * piece is made only after a piece was sent completely, so a reply that is not read occupies the
 * memory of one piece.
 *
 * Replies to root come first. Other users take turns, and at most QUERY_OF_USER replies to one user
 * are in progress. Each process in a reply is as it was when its piece was made. A process that
 * ends meanwhile is missing, or is shown with fewer queues.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OPERATOR_QUERY_H
#define KFDSHIM_SCHEDULER_DAEMON_OPERATOR_QUERY_H

#include "scheduler/daemon/worker.h"

/* used instead of a process id: query of the last events */
#define QUERY_OF_EVENTS (-1)
/* used instead of a process id: all processes, with counts of their queues only */
#define QUERY_BRIEF (-2)

#define QUERY_OF_USER 8u

/* Starts a reply to `client` (CLIENT_ASKING from now on). `pid`: the process to describe; 0: all;
 * or QUERY_OF_EVENTS or QUERY_BRIEF. */
void query_begin(struct worker *worker, struct client *client, int pid);

/* Frees the reply of a client that was CLIENT_ASKING and has ended. */
void query_end(struct worker *worker, struct client *client);

/* Makes and sends pieces of replies, if it is time. Called in each loop iteration. */
void query_step(struct worker *worker, uint64_t now);

/* Returns the time of the next piece; UINT64_MAX if there is no query. */
uint64_t query_next(void);

#endif
