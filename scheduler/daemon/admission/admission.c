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
#include "scheduler/daemon/admission/greeter.h"
#include "scheduler/daemon/clients/client.h"
#include "scheduler/daemon/config/owners.h"
#include "scheduler/daemon/worker.h"

#define AT_ONCE 8 /* connections admitted in one loop iteration: each costs 0.1 ms */
/* the kernel doubles this value; one more packet than fits can be queued */
#define SNDBUF_BYTES 16384
#define UNREAD_NS 20000000u
#define UNREAD_MANY_NS 200000000u

void admission_open(struct worker *worker)
{
	struct admission *admission = &worker->admission;
	struct rlimit files;

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

struct user *admission_user(struct worker *worker, uid_t owner)
{
	return users_find(&worker->admission.users, owner, worker->now_ns);
}

static void give_slot_free(struct worker *worker, uid_t owner)
{
	admission_user(worker, owner)->connections--;
	worker->admission.taken--;
}

bool admission_is_unread(int socket)
{
	int bytes = 0;

	return ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void admission_left(struct worker *worker, uid_t owner, int socket)
{
	struct admission *admission = &worker->admission;

	if (admission_is_unread(socket)) {
		admission->unread[admission->unread_count++] =
			(struct admission_unread){.socket = socket, .owner = owner};
		/* The client must see the end of the connection now, although the worker keeps
		 * its socket. */
		shutdown(socket, SHUT_RDWR);
		return;
	}
	close(socket);
	give_slot_free(worker, owner);
}

void admission_check(struct worker *worker, uint64_t now)
{
	struct admission *admission = &worker->admission;
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
		give_slot_free(worker, unread->owner);
	}
	admission->unread_count = n_valid;
}

/* Replies with a negative errno and closes the connection. */
static void refuse(struct worker *worker, int fd, int error)
{
	const struct protocol_welcome welcome = {
		.magic = PROTOCOL_MAGIC, .version = PROTOCOL_OLDEST, .status = error};

	__atomic_fetch_add(&worker->admission_state->refused, 1, __ATOMIC_RELAXED);
	protocol_send(fd, &welcome, sizeof(welcome), NULL, 0);
	close(fd);
}

static void let_in(struct worker *worker, int fd, const struct admission_message *message,
		   uint64_t now)
{
	struct admission *admission = &worker->admission;
	const int sndbuf = SNDBUF_BYTES;
	struct ucred cred = {.uid = (uid_t)-1};
	socklen_t size = sizeof(cred);
	struct user *user;
	const char *why;
	bool trusted;
	uid_t owner;

	/* Limit the send buffer: packets that a client does not read occupy memory of the
	 * daemon. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size);
	owner = owners_find(&worker->config.owners, cred.uid);
	trusted = users_is_trusted(cred.uid);
	user = admission_user(worker, owner);
	why = users_objection(user, trusted, admission->taken, admission->slots, now);
	if (why) {
		log_user(&user->log, "connection of user %u refused: %s", cred.uid, why);
		refuse(worker, fd, -ENOSPC);
		return;
	}
	user->connections++;
	admission->taken++;
	client_accept(worker, fd, owner, trusted, message, now);
}

void admission_take(struct worker *worker, uint64_t now)
{
	struct admission *admission = &worker->admission;

	for (int i = 0; i < AT_ONCE; i++) {
		struct admission_message message;
		size_t nfds = 1;
		int fd = -1, error;

		if (admission->reserve >= 0)
			close(admission->reserve);
		error = protocol_receive(worker->channel, &message, sizeof(message), &fd, &nfds, 0);
		admission->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (error || nfds != 1)
			return;
		if (admission->reserve >= 0) {
			let_in(worker, fd, &message, now);
			continue;
		}
		log_user(&admission_user(worker, geteuid())->log,
			 "a connection cannot be accepted: "
			 "%s",
			 strerror(errno));
		refuse(worker, fd, -EMFILE);
	}
}
