/* SPDX-License-Identifier: MIT */
/*
 * Answers to commands that ask for the state (PROTOCOL_ASK) or for the last events
 * (PROTOCOL_RECENT). A thousand clients are
 * 50 ms of JSON, so an answer is made piece by piece between the turns of the loop, for
 * 0.2 ms at a time and then nothing for 1 ms, however many ask: they wait in line, and one
 * answer is for all that wait for the same when it is begun. Each process in it is as it
 * was when its piece was made; who went meanwhile is left out, or has fewer queues.
 *
 * All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_ANSWER_H
#define KFDSHIM_SCHEDULER_DAEMON_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

struct client;
struct worker;

/* In the place of a process: the last events. */
#define ANSWER_OF_EVENTS (-1)
#define ANSWER_BRIEF (-2) /* of all, with counts of their queues */

enum answer_stage {
	ANSWER_NONE,
	ANSWER_PROCESS, /* the next one, or the end */
	ANSWER_QUEUES,	/* of the process */
	ANSWER_LANE,
	ANSWER_LANE_QUEUES,
	ANSWER_LANE_EVENTS,
	ANSWER_RECENT,
	ANSWER_DONE,
};

/* Of the worker: the answer that is being made. */
struct answer {
	enum answer_stage stage;
	int pid; /* of this process; 0: of all; or one of those */
	int memory;
	int error;
	uint32_t number;
	uint32_t slot, serial; /* of the process */
	bool first;	       /* nothing stands in the list yet */
	uint32_t queue, unreadable;
	uint64_t event, newest;
	uint64_t next_ns;
	uint32_t askers;
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
