/* SPDX-License-Identifier: MIT */
/*
 * The users that have connections, or had some recently: the number of their connections, and
 * the budgets for what a user can cause (log lines, connections, scans of shared memory). A uid
 * that /etc/subuid assigns to a user counts as that user (owners.h): the caller passes the
 * owner.
 *
 * Plain data; no I/O and no clock of its own.
 *
 * Threads: one thread of one process uses a struct users.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_ADMISSION_USERS_H
#define KFDSHIM_SCHEDULER_DAEMON_ADMISSION_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/ratelimit.h"
#include "scheduler/daemon/log.h"

#define USERS_MAX 1024u /* users with a connection at the same time */

struct user {
	uid_t uid;
	uint32_t connections; /* open now */
	uint32_t queries;     /* status replies in progress (query.h) */
	uint64_t last_round;  /* number of its last turn at the door (greeter.h); 0: none */
	struct log_share log;
	struct ratelimit comes, scans; /* new connections; scans of shared memory (client_scan.h) */
};

/* Returns true for root and for the daemon's own user. It checks the uid itself, not its owner,
 * because a subordinate uid of root does not have root's rights. */
static inline bool users_is_trusted(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* All zero: no user is known. */
struct users {
	uint32_t end; /* entries from here on are free */
	struct user entries[USERS_MAX + 1];
};

/*
 * Returns the entry of `uid`, and creates one if there is none. `now` is CLOCK_MONOTONIC in ns.
 *
 * A new entry replaces the entry of a user without connections whose budgets are full again.
 * Such an entry, or a free one, always exists while at most USERS_MAX users have connections.
 * The pointer is valid until the next call.
 */
struct user *users_find(struct users *users, uid_t uid, uint64_t now);

/*
 * Checks if `user` can have another connection while `taken` of `slots` are in use. `trusted` is
 * the result of users_is_trusted() for the uid of the connection.
 *
 * A trusted user can use all slots. Another user can use at most half of all slots, and none of
 * the last sixteenth, and the rate of its connections is limited.
 *
 * Returns NULL if the connection is allowed; the budget of an untrusted user is then charged.
 * Otherwise returns the reason, which completes "... is refused: ".
 */
const char *users_objection(struct user *user, bool trusted, uint32_t taken, uint32_t slots,
			    uint64_t now);

#endif
