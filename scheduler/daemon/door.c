// SPDX-License-Identifier: MIT
#include "scheduler/daemon/door.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "scheduler/daemon/client.h"
#include "scheduler/daemon/worker.h"

#define AT_ONCE 8	     /* let in during one turn of the loop: each costs 0.1 ms */
#define CLOSED_NS 100000000u /* when there are no descriptors */

/* A thousand shims come again at once when a worker was replaced. */
static const struct budget_rule all_come = {.burst = 2 * DOOR_SLOTS, .period_ns = 500000u};
static const struct budget_rule user_comes = {.burst = DOOR_SLOTS, .period_ns = 2000000u};

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
		log_info("room for %u connections, not %u: raise the limit on open files "
			 "(LimitNOFILE=) to %u",
			 door->slots, DOOR_SLOTS, DOOR_SPARE + DOOR_SLOTS * DOOR_FILES);
	door->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void watch_listener(struct worker *worker, bool watch)
{
	struct epoll_event event = {.events = watch ? EPOLLIN : 0,
				    .data.u64 = worker_event_data(WORKER_LISTENER, 0, 0)};

	epoll_ctl(worker->epoll, EPOLL_CTL_MOD, worker->listener, &event);
}

static void close_until(struct worker *worker, uint64_t until)
{
	worker->door.closed_until = until;
	watch_listener(worker, false);
}

void door_look(struct worker *worker, uint64_t now)
{
	if (!worker->door.closed_until || now < worker->door.closed_until)
		return;
	worker->door.closed_until = 0;
	watch_listener(worker, true);
}

/* Nobody's entry: it was never used, or forgets nothing. */
static bool is_free(const struct door_user *user, uint64_t now)
{
	return user->connections == 0 && budget_full(&user->comes, now) &&
	       budget_full(&user->looks, now) && budget_full(&user->log.budget, now);
}

/* There is always one without a connection. */
static struct door_user *user_find(struct door *door, uid_t uid, uint64_t now)
{
	struct door_user *room = NULL;

	for (uint32_t i = 0; i < door->user_end; i++) {
		struct door_user *user = &door->users[i];

		if (user->uid == uid)
			return user;
		if (!user->connections && (!room || is_free(user, now)))
			room = user;
	}
	if (door->user_end <= DOOR_SLOTS && (!room || !is_free(room, now)))
		room = &door->users[door->user_end++];
	*room = (struct door_user){.uid = uid};
	return room;
}

struct door_user *door_user(struct worker *worker, uid_t uid)
{
	return user_find(&worker->door, uid, worker->now_ns);
}

void door_left(struct worker *worker, uid_t uid)
{
	door_user(worker, uid)->connections--;
	worker->door.taken--;
}

static void refuse(struct door *door, int fd, int error)
{
	const struct protocol_welcome welcome = {
		.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION, .status = error};

	door->refused++;
	protocol_send(fd, &welcome, sizeof(welcome), NULL, 0);
	close(fd);
}

/* NULL: he may; else why not. */
static const char *objection(struct door *door, struct door_user *user, uint64_t now)
{
	bool ours = user->uid == 0 || user->uid == geteuid();

	if (door->taken == door->slots)
		return "all connections are taken";
	if (ours)
		return NULL;
	if (user->connections >= (door->slots + 1) / 2)
		return "he has half of all connections already";
	if (door->taken >= door->slots - door->slots / 16)
		return "the last connections are for root";
	if (!budget_take(&user->comes, &user_comes, now))
		return "he comes too often";
	return NULL;
}

static void let_in(struct worker *worker, int fd, uint64_t now)
{
	struct door *door = &worker->door;
	struct ucred cred = {.uid = (uid_t)-1};
	socklen_t size = sizeof(cred);
	struct door_user *user;
	const char *why;

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size);
	user = user_find(door, cred.uid, now);
	why = objection(door, user, now);
	if (why) {
		log_user(&user->log, "a connection of user %u is refused: %s", cred.uid, why);
		refuse(door, fd, -ENOSPC);
		return;
	}
	user->connections++;
	door->taken++;
	client_accept(worker, fd, cred.uid, now);
}

/* There are no descriptors: whoever is first in the queue hears it at least. */
static void turn_away(struct worker *worker, int error, uint64_t now)
{
	struct door *door = &worker->door;
	struct door_user *us = user_find(door, geteuid(), now);
	int fd = -1;

	log_user(&us->log, "a connection cannot be taken: %s", strerror(error));
	if (door->reserve >= 0) {
		close(door->reserve);
		fd = accept4(worker->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	}
	if (fd >= 0)
		refuse(door, fd, -error);
	door->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close_until(worker, now + CLOSED_NS);
}

void door_accept(struct worker *worker, uint64_t now)
{
	struct door *door = &worker->door;

	for (int i = 0; i < AT_ONCE; i++) {
		int fd;

		if (!budget_take(&door->comes, &all_come, now)) {
			close_until(worker, budget_next(&door->comes, &all_come, now));
			return;
		}
		fd = accept4(worker->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			let_in(worker, fd, now);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			turn_away(worker, errno, now);
		if (errno != ECONNABORTED && errno != EINTR)
			return;
	}
}
