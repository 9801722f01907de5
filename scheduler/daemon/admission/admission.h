/* SPDX-License-Identifier: MIT */
/*
 * Admission of connections in the worker. A connection uses one slot and up to ADMISSION_FILES file
 * descriptors, so the number of slots follows from RLIMIT_NOFILE. users.h has the limits of a
 * user. The process that accepts connections (greeter.h) sends each connection with its hello
 * over a channel. It has emptied the connection and shut it down for reading, so that the worker
 * can close it at any time without blocking.
 *
 * A connection that has ended stays counted if its client has not read the file descriptors that
 * the daemon sent to it, until the client reads them or the last holder of the client's end
 * closes it. The reason is that the kernel counts such descriptors as "in flight" and limits
 * them by user, and the whole daemon is one user.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_ADMISSION_ADMISSION_H
#define KFDSHIM_SCHEDULER_DAEMON_ADMISSION_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/admission/greeter.h"
#include "scheduler/daemon/admission/users.h"

#define ADMISSION_SLOTS USERS_MAX
#define ADMISSION_FILES 8u  /* descriptors of a client with a debug session */
#define ADMISSION_SPARE 32u /* descriptors of the worker itself */

struct admission {
	uint32_t slots, taken; /* connections allowed, and in use */
	/* a spare descriptor, released to receive a connection when no other is free; -1: none */
	int reserve;
	uint64_t *refused; /* counter of refused connections */
	struct users users;
	uint32_t unread_count;
	struct admission_unread {
		int socket;
		uid_t owner;
	} unread[ADMISSION_SLOTS]; /* connections that have ended with unread descriptors */
	uint64_t unread_next_ns;   /* earliest time of the next check of unread[] */
};

/* A connection that was admitted. */
struct admitted {
	int socket;   /* owned by the receiver */
	uid_t owner;  /* owner of the peer's uid (owners.h) */
	bool trusted; /* users_is_trusted() of that uid */
	struct admission_message message;
};

/* Computes the number of slots from RLIMIT_NOFILE and opens the spare descriptor. `refused` is
 * incremented for each connection that is refused. Called once, when the worker starts. Logs if
 * there are fewer than ADMISSION_SLOTS slots. */
void admission_open(struct admission *admission, uint64_t *refused);

/*
 * Takes the next connection from the channel, and admits it, or refuses it with a reply. The
 * channel is level-triggered, so a caller may stop before it is empty.
 *
 * Returns 1: *out is filled; 0: the connection was refused; -EAGAIN: the channel is empty.
 */
int admission_take(struct admission *admission, int channel, const struct owners *owners,
		   uint64_t now, struct admitted *out);

/* Frees the slots of ended connections whose descriptors have been read, or whose client end is
 * closed, since the last call. Called in each loop iteration; checks every 20 ms, or every 200
 * ms if there are more than 64 such connections. */
void admission_check(struct admission *admission, uint64_t now);

/* An admitted connection of `owner` has ended. Takes ownership of `socket`. */
void admission_left(struct admission *admission, uid_t owner, int socket, uint64_t now);

/* Returns true if the peer has not read all packets that were sent to it. */
bool admission_is_unread(int socket);

#endif
