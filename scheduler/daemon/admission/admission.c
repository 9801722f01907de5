// SPDX-License-Identifier: MIT
#include "scheduler/daemon/admission/admission.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "scheduler/daemon/config/owners.h"
#include "scheduler/daemon/log.h"

/* the kernel doubles this value; one more packet than fits can be queued */
#define SNDBUF_BYTES 16384
#define UNREAD_NS 20000000u
#define UNREAD_MANY_NS 200000000u

void admission_open(struct admission *admission, uint64_t *refused)
{
	struct rlimit files;

	admission->refused = refused;
	admission->slots = ADMISSION_SLOTS;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	    files.rlim_cur < ADMISSION_SPARE + ADMISSION_SLOTS * ADMISSION_FILES)
		admission->slots =
			files.rlim_cur > ADMISSION_SPARE + ADMISSION_FILES
				? (uint32_t)(files.rlim_cur - ADMISSION_SPARE) / ADMISSION_FILES
				: 1;
	if (admission->slots < ADMISSION_SLOTS)
		log_info("only %u connections are possible instead of %u: raise the limit of "
			 "open files (LimitNOFILE=) to %u",
			 admission->slots, ADMISSION_SLOTS,
			 ADMISSION_SPARE + ADMISSION_SLOTS * ADMISSION_FILES);
	admission->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void give_slot_free(struct admission *admission, uid_t owner, uint64_t now)
{
	users_find(&admission->users, owner, now)->connections--;
	admission->taken--;
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
		/* The client must see the end of the connection now, although the worker keeps
		 * its socket. */
		shutdown(socket, SHUT_RDWR);
		return;
	}
	close(socket);
	give_slot_free(admission, owner, now);
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
		give_slot_free(admission, unread->owner, now);
	}
	admission->unread_count = n_valid;
}

/* Replies with a negative errno and closes the connection. */
static void refuse(struct admission *admission, int fd, int error)
{
	const struct protocol_welcome welcome = {
		.magic = PROTOCOL_MAGIC, .version = PROTOCOL_OLDEST, .status = error};

	__atomic_fetch_add(admission->refused, 1, __ATOMIC_RELAXED);
	protocol_send(fd, &welcome, sizeof(welcome), NULL, 0);
	close(fd);
}

/* Admits or refuses the connection out->socket. */
static bool let_in(struct admission *admission, const struct owners *owners, uint64_t now,
		   struct admitted *out)
{
	const int sndbuf = SNDBUF_BYTES;
	struct ucred cred = {.uid = (uid_t)-1};
	socklen_t size = sizeof(cred);
	struct user *user;
	const char *why;

	/* Limit the send buffer: packets that a client does not read occupy memory of the
	 * daemon. */
	setsockopt(out->socket, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	getsockopt(out->socket, SOL_SOCKET, SO_PEERCRED, &cred, &size);
	out->owner = owners_find(owners, cred.uid);
	out->trusted = users_is_trusted(cred.uid);
	user = users_find(&admission->users, out->owner, now);
	why = users_objection(user, out->trusted, admission->taken, admission->slots, now);
	if (why) {
		log_user(&user->log, "connection of user %u refused: %s", cred.uid, why);
		refuse(admission, out->socket, -ENOSPC);
		return false;
	}
	user->connections++;
	admission->taken++;
	return true;
}

int admission_take(struct admission *admission, int channel, const struct owners *owners,
		   uint64_t now, struct admitted *out)
{
	size_t nfds = 1;
	int error;

	if (admission->reserve >= 0)
		close(admission->reserve);
	error = protocol_receive(channel, &out->message, sizeof(out->message), &out->socket, &nfds,
				 0);
	admission->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (error || nfds != 1)
		return -EAGAIN;
	if (admission->reserve >= 0)
		return let_in(admission, owners, now, out);
	log_user(&users_find(&admission->users, geteuid(), now)->log,
		 "a connection cannot be accepted: %s", strerror(errno));
	refuse(admission, out->socket, -EMFILE);
	return 0;
}
