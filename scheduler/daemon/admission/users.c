// SPDX-License-Identifier: MIT
#include "scheduler/daemon/admission/users.h"

#include <stddef.h>

/* The burst is this large because all clients of a user connect again at once when a worker has
 * been replaced. */
static const struct ratelimit_rule comes = {.burst = USERS_MAX, .period_ns = 2000000u};

/* An entry can be reused only if no connection refers to it and its budgets are full, because a
 * user could otherwise get new budgets by reconnecting. */
static bool is_free(const struct user *user, uint64_t now)
{
	return user->connections == 0 && ratelimit_full(&user->comes, now) &&
	       ratelimit_full(&user->scans, now) && ratelimit_full(&user->log.limit, now);
}

struct user *users_find(struct users *users, uid_t uid, uint64_t now)
{
	struct user *room = NULL;

	for (uint32_t i = 0; i < users->end; i++) {
		struct user *user = &users->entries[i];

		if (user->uid == uid)
			return user;
		if (!user->connections && (!room || is_free(user, now)))
			room = user;
	}
	if (users->end <= USERS_MAX && (!room || !is_free(room, now)))
		room = &users->entries[users->end++];
	*room = (struct user){.uid = uid};
	return room;
}

const char *users_objection(struct user *user, bool trusted, uint32_t taken, uint32_t slots,
			    uint64_t now)
{
	if (taken >= slots)
		return "all connections are in use";
	if (trusted)
		return NULL;
	if (user->connections >= (slots + 1) / 2)
		return "the user already has half of all connections";
	if (taken >= slots - slots / 16)
		return "the last connections are reserved for root";
	if (!ratelimit_take(&user->comes, &comes, now))
		return "the user exceeds the connection rate";
	return NULL;
}
