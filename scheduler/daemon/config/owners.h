/* SPDX-License-Identifier: MIT */
/*
 * Owners of uids. /etc/subuid assigns ranges of subordinate uids to users, and rootless
 * containers use them. All uids of a user share the limits of that user.
 *
 * Plain data without pointers; a part of struct config.
 *
 * Threads: any; no state. owners_read() uses getpwnam(3), which is not thread-safe.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_OWNERS_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_OWNERS_H

#include <stdint.h>
#include <sys/types.h>

#define OWNERS_FILE "/etc/subuid"
#define OWNERS_MAX 1024u /* ranges; lines beyond that are counted, not used */

/* A range of subordinate uids: first .. first + count - 1, which `owner` owns. */
struct owner_range {
	uid_t first, owner;
	uint32_t count;
};

struct owners {
	uint32_t count;	    /* ranges in use */
	uint32_t bad_lines; /* lines that subuid(5) does not describe, or with an unknown user */
	uint32_t unused;    /* valid lines beyond OWNERS_MAX */
	struct owner_range ranges[OWNERS_MAX];
};

/* Reads `path` into *out. A file that cannot be read counts as empty. Resolves user names by the
 * name service (nsswitch.conf), which may use the network, so the call can take long. */
void owners_read(const char *path, struct owners *out);

/* Returns the user that owns `uid`, or `uid` itself if no range contains it. */
uid_t owners_find(const struct owners *owners, uid_t uid);

#endif
