/* SPDX-License-Identifier: MIT */
/*
 * Answers to commands that ask for the state (PROTOCOL_ASK) or for the last events
 * (PROTOCOL_RECENT). The state of a thousand clients is 50 ms of JSON, so an answer is made
 * in pieces between the turns of the loop, for 0.2 ms at a time (1 ms for root), then
 * none for 1 ms, and sent as it is made: no piece is made before the client has room for
 * it, so an answer that is not read costs one piece of memory. Root's answers come first;
 * others take turns, and of one user at most ANSWER_OF_USER are under way. Each process in
 * an answer is as it was when its piece was made; one that has gone meanwhile is left out,
 * or has fewer queues.
 *
 * All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_ANSWER_H
#define KFDSHIM_SCHEDULER_DAEMON_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct worker;

/* In the place of a process: the last events. */
#define ANSWER_OF_EVENTS (-1)
#define ANSWER_BRIEF (-2) /* of all, with counts of their queues */

#define ANSWER_OF_USER 8u

enum answer_stage {
	ANSWER_WAITING, /* not begun */
	ANSWER_PROCESS, /* the next one, or the end */
	ANSWER_QUEUES,	/* of the process */
	ANSWER_LANE,
	ANSWER_LANE_QUEUES,
	ANSWER_LANE_EVENTS,
	ANSWER_RECENT,
	ANSWER_DONE,
	ANSWER_SENT, /* all of it, but not all of it is read */
};

/* A part of struct client. */
struct answer {
	enum answer_stage stage;
	int pid; /* of this process; 0: of all; or one of those above */
	int error;
	uint32_t slot, serial; /* of the process */
	bool first;	       /* nothing stands in the list yet */
	uint32_t queue, unreadable;
	uint64_t event, newest;
	uint64_t retry_ns; /* the client had no room */
	char *text;	   /* of the piece that is being sent */
	size_t length, room, sent;
};

/* A part of struct worker. */
struct answers {
	uint32_t askers;
	uint32_t last; /* slot of the client that was served last */
	uint64_t rested_ns, next_ns;
};

/* This client asks for all, for process `pid`, or ANSWER_OF_EVENTS: it is CLIENT_ASKING
 * from now on. */
void answer_ask(struct worker *worker, struct client *client, int pid);
/* An asker has gone. */
void answer_gone(struct worker *worker, struct client *client);
/* At every turn of the loop. */
void answer_step(struct worker *worker, uint64_t now);
/* When there is something to do; UINT64_MAX: nobody asks. */
uint64_t answer_next(const struct worker *worker);

#endif
