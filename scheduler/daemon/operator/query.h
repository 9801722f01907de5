/* SPDX-License-Identifier: MIT */
/*
 * Replies to commands that query the state (PROTOCOL_QUERY) or the last events (PROTOCOL_RECENT).
 *
 * The state of a thousand clients is 50 ms of JSON. So a reply is made in pieces between loop
 * iterations, for 0.2 ms at a time (1 ms for root) and then not for 1 ms, and each piece is sent
 * at once. The next piece is made only after a piece was sent completely, so a reply that is not
 * read occupies the memory of one piece.
 *
 * Replies to root come first. Others take turns, and at most QUERY_OF_USER replies to one user
 * are in progress. Each process in a reply is as it was when its piece was made. A process that
 * ends meanwhile is missing, or is shown with fewer queues.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OPERATOR_QUERY_H
#define KFDSHIM_SCHEDULER_DAEMON_OPERATOR_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct worker;

/* value for a process id: query of the last events */
#define QUERY_OF_EVENTS (-1)
/* value for a process id: all processes, with counts of their queues only */
#define QUERY_BRIEF (-2)

#define QUERY_OF_USER 8u

/* The next piece of a reply. */
enum query_stage {
	QUERY_WAITING,		 /* not begun; waits for its turn */
	QUERY_PROCESS,		 /* the next process, or the end of the list */
	QUERY_QUEUES,		 /* queues of the process */
	QUERY_CLIENT_SHM,	 /* dump of the process's shared memory: its words */
	QUERY_CLIENT_SHM_QUEUES, /* dump: its queues */
	QUERY_CLIENT_SHM_EVENTS, /* dump: its events */
	QUERY_RECENT,		 /* last events of the daemon */
	QUERY_DONE,		 /* complete; the last piece is being sent */
	QUERY_SENT,		 /* sent; the client has not read all of it */
};

/* A part of struct client. */
struct query {
	enum query_stage stage;
	int pid;		    /* process to describe; 0: all; or a value above */
	int error;		    /* negative errno for the end of the reply; 0: none */
	uint32_t slot, serial;	    /* of the process that is described now */
	bool first;		    /* the list is still empty */
	uint32_t queue, unreadable; /* next queue; dump: queues that cannot be read */
	uint64_t event, newest;	    /* last event written; last event to write */
	uint64_t retry_ns;	    /* time of the next attempt, if the client had no room */
	char *text;		    /* the piece that is being sent */
	size_t length, room, sent;  /* bytes of text; allocated; already sent */
};

/* A part of struct worker. */
struct queries {
	uint32_t askers;	     /* clients that are CLIENT_ASKING */
	uint32_t last;		     /* slot of the client that was served last */
	uint64_t rested_ns, next_ns; /* end of the pause; time of the next query_step() */
};

/* Starts a reply to `client` (CLIENT_ASKING from now on). `pid`: the process to describe, 0 for
 * all, or one of the values above. */
void query_begin(struct worker *worker, struct client *client, int pid);

/* A client that is CLIENT_ASKING has ended: frees its reply. */
void query_end(struct worker *worker, struct client *client);

/* Called in each loop iteration: makes and sends pieces if it is time. */
void query_step(struct worker *worker, uint64_t now);

/* Returns the time of the next piece; UINT64_MAX if there is no query. */
uint64_t query_next(const struct worker *worker);

#endif
