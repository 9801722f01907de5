/* SPDX-License-Identifier: MIT */
/*
 * How often a lane is looked at. A client may write its lane and its eventfd as often as
 * it likes; it is looked at 2,000 times a second at most, and all clients of one user
 * together 60,000 times. What is beyond that is put off for half a millisecond, together
 * with others that are, and nothing of the client wakes the loop meanwhile. Who is put off
 * is counted in the status; who it is by himself, not by his user's other clients, is named
 * in the log, once.
 *
 * All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOOK_H
#define KFDSHIM_SCHEDULER_DAEMON_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/budget.h"

struct client;
struct worker;

#define LOOKS_CLIENTS 1024u

/* Of one client. */
struct look {
	struct budget budget;
	uint64_t put_off; /* so many looks */
	bool late, named;
};

/* Of the worker. */
struct looks {
	uint64_t next_ns; /* when those who are late are looked at */
	uint32_t late_count;
	uint16_t late[LOOKS_CLIENTS]; /* slots */
};

/* It has woken us. Was there anything new? */
bool look_woken(struct worker *worker, struct client *client, uint64_t now);
/* Nobody has woken us: only a look that finds something counts. */
bool look_unasked(struct worker *worker, struct client *client, uint64_t now);
/* At every turn: those who are late, if it is time. */
void look_late(struct worker *worker, uint64_t now);
/* It has gone. */
void look_forget(struct worker *worker, struct client *client);
/* When it is; UINT64_MAX: nobody is late. */
uint64_t look_next(const struct worker *worker);

#endif
