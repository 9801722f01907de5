/* SPDX-License-Identifier: MIT */
/*
 * The users that have connections, or had some lately: how many, and what each may still
 * cause (log lines, connections, work of the loop). A uid that /etc/subuid assigns to a
 * user counts as that user (owners.h): the caller passes the owner.
 *
 * Plain data for one thread of one process; no I/O, no clock.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_USERS_H
#define KFDSHIM_SCHEDULER_DAEMON_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/budget.h"
#include "scheduler/daemon/log.h"

#define USERS_MAX 1024u /* with a connection at a time */

struct user {
	uid_t uid;
	uint32_t connections;
	uint32_t answers; /* under way (answer.h) */
	uint64_t turn;	  /* the number of its last one (greeter.h); 0: none */
	struct log_share log;
	struct budget comes, looks;
};

/* Root and the daemon's own user, by the uid itself: a subordinate uid of root is not root. */
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
 * The entry of `uid`, which is made if there is none: in place of one without a
 * connection whose budgets are full again, of which there is always one while at most
 * USERS_MAX users have connections. Valid until the next call.
 */
struct user *users_find(struct users *users, uid_t uid, uint64_t now);

/*
 * May this user have one connection more, if `taken` of `slots` are taken? NULL: yes, and
 * its budget is charged; else the reason, which completes "... is refused: ". A trusted
 * user (root, the daemon's own) may take all; others half of all at most, and none of the
 * last sixteenth.
 */
const char *users_objection(struct user *user, bool trusted, uint32_t taken, uint32_t slots,
			    uint64_t now);

#endif
