/* SPDX-License-Identifier: MIT */
/*
 * Who may come in. A connection costs a slot and up to DOOR_FILES descriptors, so there
 * are as many slots as descriptors allow, no user but root and the daemon's own has more
 * than half of them, and the last sixteenth is for these two: no user can lock the others,
 * or who looks after the daemon, out. How often somebody comes is bounded, too, and being
 * out of descriptors all the same is answered and waited for, not spun on.
 *
 * All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_DOOR_H
#define KFDSHIM_SCHEDULER_DAEMON_DOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/budget.h"
#include "scheduler/daemon/log.h"

struct worker;

#define DOOR_SLOTS 1024u
#define DOOR_FILES 8u  /* of a client with a debug session */
#define DOOR_SPARE 32u /* descriptors of the worker itself */

/* One user, for as long as he has a connection, or had one lately. */
struct door_user {
	uid_t uid;
	uint32_t connections;
	struct log_share log;
	struct budget comes, looks;
};

struct door {
	uint32_t slots, taken;
	int reserve;	       /* a descriptor to refuse somebody with; -1: none */
	uint64_t closed_until; /* 0: the listener is watched */
	struct budget comes;
	uint64_t refused;  /* so many ever */
	uint32_t user_end; /* entries from here on are free */
	struct door_user users[DOOR_SLOTS + 1];
};

/* Before anybody comes: how many there is room for. */
void door_open(struct worker *worker);
/* Somebody is there: lets in a few, the listener tells of the others again. */
void door_accept(struct worker *worker, uint64_t now);
/* Often: a door that was closed for a while is opened. */
void door_look(struct worker *worker, uint64_t now);
/* A connection of this user that was let in is gone. */
void door_left(struct worker *worker, uid_t uid);
/* Valid until the next connection comes. */
struct door_user *door_user(struct worker *worker, uid_t uid);

#endif
