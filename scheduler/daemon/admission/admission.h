/* SPDX-License-Identifier: MIT */
/*
 * Admission of connections. There is an entry for each user that has connections or had some
 * recently: the number of connections, and rate limits for what the user can cause (log lines,
 * connections, scans of shared memory). A uid that /etc/subuid assigns to a user counts as that
 * user (match_rules.h). kfdschedd-door (greeter.h) counts the connections that it has not passed
 * on, and the worker those that it has taken.
 *
 * A connection in the worker uses one slot and up to ADMISSION_FILES file descriptors, so the
 * number of slots follows from RLIMIT_NOFILE. kfdschedd-door sends each connection with its hello
 * over a channel. It has emptied the connection and shut it down for reading, so that the worker
 * can close it at any time without blocking.
 *
 * A connection that has ended stays counted if its client has not read the file descriptors that
 * the daemon sent to it, until the client reads them or the last holder of the client's end closes
 * it. The reason is that the kernel counts such descriptors as "in flight" and limits them by user,
 * and the whole daemon is one user.
 *
 * Threads: users_*(): one thread of one process uses a struct users; all other functions: the
 * worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_ADMISSION_ADMISSION_H
#define KFDSHIM_SCHEDULER_DAEMON_ADMISSION_ADMISSION_H

#include <sys/types.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "common/ratelimit.h"
#include "scheduler/daemon/log.h"

#define USERS_MAX 1024u /* maximum number of users that have connections at the same time */
#define ADMISSION_SLOTS USERS_MAX
#define ADMISSION_FILES 8u  /* descriptors that a client with a debug session needs */
#define ADMISSION_SPARE 32u /* descriptors of the worker itself */

struct owners;

struct user {
	uid_t uid;
	uint32_t connections; /* open now */
	uint32_t queries;     /* number of status replies in progress (query.h) */
	/* number of its last turn in kfdschedd-door, where users take turns (greeter.h); 0: none */
	uint64_t last_round;
	struct log_share log;
	/* comes: limit of new connections; scans: limit of scans of shared memory
	 * (client_scan.h) */
	struct ratelimit comes, scans;
};

/* Returns true for root and for the daemon's own user. It checks the uid itself, not its owner,
 * because a subordinate uid of root does not have root's rights. */
static inline bool users_is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* All zero: no user is known. */
struct users {
	uint32_t slots, taken; /* connections allowed, and in use */
	uint32_t end;	       /* entries from here on are free */
	struct user entries[USERS_MAX + 1];
};

/*
 * Returns the entry of `uid`, and creates one if there is none. `now` is CLOCK_MONOTONIC in ns.
 *
 * A new entry replaces the entry of a user without connections whose rate limits have recovered
 * completely. Such an entry, or a free one, always exists while at most USERS_MAX users have
 * connections. The pointer is valid until the next call.
 */
struct user *users_find(struct users *users, uid_t uid, uint64_t now);

/*
 * Counts the connection `socket`, and sets *owner, the owner of the peer's uid, and *trusted,
 * users_is_trusted() of that uid.
 *
 * A trusted user can use all slots. Another user can use at most half of all slots, and none of the
 * last sixteenth, and the rate of its connections is limited. Returns the user; NULL, after a log
 * line, if the connection is not allowed.
 */
struct user *users_let_in(struct users *users, const struct owners *owners, int socket,
			  uint64_t now, uid_t *owner, bool *trusted);

/* Subtracts an ended connection, which users_let_in() has counted, from those of `owner`. */
void users_left(struct users *users, uid_t owner, uint64_t now);

/* Replies to a hello with a negative errno. */
void admission_refuse(int socket, int error);

/* A packet from kfdschedd-door to the worker; the connection is attached as its only descriptor. */
struct admission_message {
	uint64_t accepted_ns;	     /* when it was accepted, CLOCK_MONOTONIC ns */
	struct protocol_hello hello; /* as the client sent it: not checked */
};

struct admission {
	/* a spare descriptor, closed to receive a connection if no other is free; -1: none */
	int reserve;
	uint64_t *refused; /* counter of refused connections */
	struct users users;
	uint32_t unread_count;
	struct admission_unread {
		int socket;
		uid_t owner;
		/* ended connections whose client has not read all descriptors that were sent to
		 * it */
	} unread[ADMISSION_SLOTS];
	uint64_t unread_next_ns; /* earliest time of the next check of unread[] */
};

/* A connection that was admitted. */
struct admitted {
	int socket; /* owned by the receiver */
	uid_t owner;
	bool trusted;
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

/* Ends an admitted connection of `owner`: takes ownership of `socket` and closes it, at once or in
 * a later admission_check(), when the client has read what was sent to it. */
void admission_left(struct admission *admission, uid_t owner, int socket, uint64_t now);

/* Returns true if the peer has not read all packets that were sent to it. */
bool admission_is_unread(int socket);

#endif
