// SPDX-License-Identifier: MIT
#include "scheduler/daemon/admission/admission.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "scheduler/daemon/config/match_rules.h"

/* send buffer; the kernel doubles this value, and accepts one packet beyond it */
#define SNDBUF_BYTES 16384
#define UNREAD_NS 20000000u
#define UNREAD_MANY_NS 200000000u

/* ---- users ---- */

/* Rate limit of new connections. The burst is large because all clients of a user connect again at
 * once when a worker has been replaced. */
static const struct ratelimit_rule comes = {.burst = USERS_MAX, .period_ns = 2000000u};

/* Returns true if the entry can be reused: no connection refers to it, and none of its rate limits
 * is partly used. Otherwise a user could get new limits by reconnecting. */
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

/* Returns NULL if `user` can have another connection, which then counts for the rate limit unless
 * the user is trusted. Otherwise returns the reason, as an end of "... refused: ". */
static const char *objection(const struct users *users, struct user *user, bool trusted,
			     uint64_t now)
{
	uint32_t slots = users->slots, taken = users->taken;

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

struct user *users_let_in(struct users *users, const struct owners *owners, int socket,
			  uint64_t now, uid_t *owner, bool *trusted)
{
	struct ucred cred = {.uid = (uid_t)-1};
	socklen_t size = sizeof(cred);
	struct user *user;
	const char *why;

	getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &size);
	*owner = owners_find(owners, cred.uid);
	*trusted = users_is_trusted(cred.uid);
	user = users_find(users, *owner, now);
	why = objection(users, user, *trusted, now);
	if (why) {
		log_user(&user->log, "connection of user %u refused: %s", cred.uid, why);
		return NULL;
	}
	user->connections++;
	users->taken++;
	return user;
}

void users_left(struct users *users, uid_t owner, uint64_t now)
{
	users_find(users, owner, now)->connections--;
	users->taken--;
}

void admission_refuse(int socket, int error)
{
	const struct protocol_welcome welcome = {
		.magic = PROTOCOL_MAGIC, .version = PROTOCOL_OLDEST, .status = error};

	protocol_send(socket, &welcome, sizeof(welcome), NULL, 0);
}

/* ---- connections in the worker ---- */

void admission_open(struct admission *admission, uint64_t *refused)
{
	struct rlimit files;

	admission->refused = refused;
	admission->users.slots = ADMISSION_SLOTS;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	    files.rlim_cur < ADMISSION_SPARE + ADMISSION_SLOTS * ADMISSION_FILES)
		admission->users.slots =
			files.rlim_cur > ADMISSION_SPARE + ADMISSION_FILES
				? (uint32_t)(files.rlim_cur - ADMISSION_SPARE) / ADMISSION_FILES
				: 1;
	if (admission->users.slots < ADMISSION_SLOTS)
		log_info("only %u connections are possible instead of %u: raise the limit of "
			 "open files (LimitNOFILE=) to %u",
			 admission->users.slots, ADMISSION_SLOTS,
			 ADMISSION_SPARE + ADMISSION_SLOTS * ADMISSION_FILES);
	admission->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool admission_is_unread(int socket)
{
	int bytes = 0;

	return ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void admission_left(struct admission *admission, uid_t owner, int socket, uint64_t now)
{
	if (admission_is_unread(socket)) {
		admission->unread[admission->unread_count++] =
			(struct admission_unread){.socket = socket, .owner = owner};
		/* End the connection for the client, although the worker keeps the socket open. */
		shutdown(socket, SHUT_RDWR);
		return;
	}
	close(socket);
	users_left(&admission->users, owner, now);
}

void admission_check(struct admission *admission, uint64_t now)
{
	uint32_t n_valid = 0;

	if (now < admission->unread_next_ns)
		return;
	admission->unread_next_ns =
		now + (admission->unread_count > 64 ? UNREAD_MANY_NS : UNREAD_NS);
	for (uint32_t i = 0; i < admission->unread_count; i++) {
		struct admission_unread *unread = &admission->unread[i];

		if (admission_is_unread(unread->socket)) {
			admission->unread[n_valid++] = *unread;
			continue;
		}
		close(unread->socket);
		users_left(&admission->users, unread->owner, now);
	}
	admission->unread_count = n_valid;
}

static void refuse(struct admission *admission, int socket, int error)
{
	__atomic_fetch_add(admission->refused, 1, __ATOMIC_RELAXED);
	admission_refuse(socket, error);
	close(socket);
}

int admission_take(struct admission *admission, int channel, const struct owners *owners,
		   uint64_t now, struct admitted *out)
{
	const int sndbuf = SNDBUF_BYTES;
	size_t nfds = 1;
	int error;

	if (admission->reserve >= 0)
		close(admission->reserve);
	error = protocol_receive(channel, &out->message, sizeof(out->message), &out->socket, &nfds,
				 0);
	admission->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (error || nfds != 1)
		return -EAGAIN;
	if (admission->reserve < 0) {
		log_user(&users_find(&admission->users, geteuid(), now)->log,
			 "a connection cannot be accepted: %s", strerror(errno));
		refuse(admission, out->socket, -EMFILE);
		return 0;
	}
	/* Limit the send buffer: packets that a client does not read occupy memory of the
	 * daemon. */
	setsockopt(out->socket, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	if (users_let_in(&admission->users, owners, out->socket, now, &out->owner, &out->trusted))
		return 1;
	refuse(admission, out->socket, -ENOSPC);
	return 0;
}
