/* SPDX-License-Identifier: MIT */
/*
 * Which user owns a uid: /etc/subuid assigns ranges of subordinate uids to users, and
 * rootless containers use them. All of a user's uids share that user's limits.
 *
 * Plain data without pointers, a part of struct config.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OWNERS_H
#define KFDSHIM_SCHEDULER_DAEMON_OWNERS_H

#include <stdint.h>
#include <sys/types.h>

#define OWNERS_FILE "/etc/subuid"
#define OWNERS_MAX 1024u /* ranges; further ones are not used */

struct owner_range {
	uid_t first, owner;
	uint32_t count;
};

struct owners {
	uint32_t count;
	uint32_t bad_lines; /* that subuid(5) does not describe, or of an unknown user */
	uint32_t unused;    /* lines beyond OWNERS_MAX */
	struct owner_range ranges[OWNERS_MAX];
};

/* Reads `path`. A file that cannot be read is one without ranges. May ask name services
 * for users, so it may take long. */
void owners_read(const char *path, struct owners *out);

/* The user to whom `uid` is assigned; `uid` itself if there is none. */
uid_t owners_find(const struct owners *owners, uid_t uid);

#endif
