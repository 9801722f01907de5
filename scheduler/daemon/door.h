/* SPDX-License-Identifier: MIT */
/*
 * Which connections the worker takes. Each costs a slot and up to DOOR_FILES descriptors,
 * so there are as many slots as descriptors allow; users.h says how many a user may have.
 * Connections come from the process that accepts them (greeter.h), with their hello, empty
 * and shut for reading: they can be closed at any time without waiting.
 *
 * A connection whose client has not read the descriptors that it was sent stays counted
 * after its end, until they are read or its last holder is gone: such descriptors are
 * "in flight" to the kernel, which limits them by user, and the daemon is one.
 *
 * All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_DOOR_H
#define KFDSHIM_SCHEDULER_DAEMON_DOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/users.h"

struct worker;

#define DOOR_SLOTS USERS_MAX
#define DOOR_FILES 8u  /* of a client with a debug session */
#define DOOR_SPARE 32u /* descriptors of the worker itself */

struct door {
	uint32_t slots, taken;
	int reserve; /* a descriptor, so that there is one to refuse a client with; -1: none */
	struct users users;
	uint32_t unread_count;
	struct door_unread {
		int socket;
		uid_t owner;
	} unread[DOOR_SLOTS]; /* ended, with descriptors that were not read */
	uint64_t unread_next_ns;
};

/* At the start: how many there is room for. */
void door_open(struct worker *worker);
/* The channel can be read: takes some connections; the channel is reported again for more. */
void door_take(struct worker *worker, uint64_t now);
/* Now and then: gives the slots of those free that have read by now, or are gone. */
void door_look(struct worker *worker, uint64_t now);
/* A connection of `owner` that was let in has ended. Takes the socket. */
void door_left(struct worker *worker, uid_t owner, int socket);
/* Is there a packet that the client has not read yet? */
bool door_is_unread(int socket);
/* Valid until the next connection comes. */
struct user *door_user(struct worker *worker, uid_t owner);

#endif
