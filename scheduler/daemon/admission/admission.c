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

void door_open(struct worker *worker)
{
	struct door *door = &worker->door;
	struct rlimit files;

	door->slots = DOOR_SLOTS;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	    files.rlim_cur < DOOR_SPARE + DOOR_SLOTS * DOOR_FILES)
		door->slots = files.rlim_cur > DOOR_SPARE + DOOR_FILES
				      ? (uint32_t)(files.rlim_cur - DOOR_SPARE) / DOOR_FILES
				      : 1;
	if (door->slots < DOOR_SLOTS)
		log_info("only %u connections are possible instead of %u: raise the limit of "
			 "open files (LimitNOFILE=) to %u",
			 door->slots, DOOR_SLOTS, DOOR_SPARE + DOOR_SLOTS * DOOR_FILES);
	door->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

struct user *door_user(struct worker *worker, uid_t owner)
{
	return users_find(&worker->door.users, owner, worker->now_ns);
}

static void give_slot_free(struct worker *worker, uid_t owner)
{
	door_user(worker, owner)->connections--;
	worker->door.taken--;
}

bool door_is_unread(int socket)
{
	int bytes = 0;

	return ioctl(socket, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void door_left(struct worker *worker, uid_t owner, int socket)
{
	struct door *door = &worker->door;

	if (door_is_unread(socket)) {
		door->unread[door->unread_count++] =
			(struct door_unread){.socket = socket, .owner = owner};
		/* The client must see the end of the connection now, although the worker keeps
		 * its socket. */
		shutdown(socket, SHUT_RDWR);
		return;
	}
	close(socket);
	give_slot_free(worker, owner);
}

void door_check(struct worker *worker, uint64_t now)
{
	struct door *door = &worker->door;
	uint32_t n_valid = 0;

	if (now < door->unread_next_ns)
		return;
	door->unread_next_ns = now + (door->unread_count > 64 ? UNREAD_MANY_NS : UNREAD_NS);
	for (uint32_t i = 0; i < door->unread_count; i++) {
		struct door_unread *unread = &door->unread[i];

		if (door_is_unread(unread->socket)) {
			door->unread[n_valid++] = *unread;
			continue;
		}
		close(unread->socket);
		give_slot_free(worker, unread->owner);
	}
	door->unread_count = n_valid;
}

/* Replies with a negative errno and closes the connection. */
static void refuse(struct worker *worker, int fd, int error)
{
	const struct protocol_welcome welcome = {
		.magic = PROTOCOL_MAGIC, .version = PROTOCOL_OLDEST, .status = error};

	__atomic_fetch_add(&worker->door_beat->refused, 1, __ATOMIC_RELAXED);
	protocol_send(fd, &welcome, sizeof(welcome), NULL, 0);
	close(fd);
}

static void let_in(struct worker *worker, int fd, const struct greeter_message *message,
		   uint64_t now)
{
	struct door *door = &worker->door;
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
	user = door_user(worker, owner);
	why = users_objection(user, trusted, door->taken, door->slots, now);
	if (why) {
		log_user(&user->log, "connection of user %u refused: %s", cred.uid, why);
		refuse(worker, fd, -ENOSPC);
		return;
	}
	user->connections++;
	door->taken++;
	client_accept(worker, fd, owner, trusted, message, now);
}

void door_take(struct worker *worker, uint64_t now)
{
	struct door *door = &worker->door;

	for (int i = 0; i < AT_ONCE; i++) {
		struct greeter_message message;
		size_t nfds = 1;
		int fd = -1, error;

		if (door->reserve >= 0)
			close(door->reserve);
		error = protocol_receive(worker->channel, &message, sizeof(message), &fd, &nfds, 0);
		door->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (error || nfds != 1)
			return;
		if (door->reserve >= 0) {
			let_in(worker, fd, &message, now);
			continue;
		}
		log_user(&door_user(worker, geteuid())->log,
			 "a connection cannot be accepted: "
			 "%s",
			 strerror(errno));
		refuse(worker, fd, -EMFILE);
	}
}
