// SPDX-License-Identifier: MIT
#include "scheduler/daemon/worker.h"

#include <sys/epoll.h>

struct client *worker_workload(const struct worker *worker, pid_t pid, uint64_t started)
{
	struct client *client;

	for (uint32_t i = 0; (client = worker_next(worker, CLIENT_SERVED, &i));)
		if (client->peer.pid == pid && (!started || client->peer.started == started))
			return client;
	return NULL;
}

struct user *worker_user(struct worker *worker, const struct client *client)
{
	return users_find(&worker->admission.users, client->uid, worker->now_ns);
}

/* Calls epoll_ctl(2) for `fd`. The client's serial is in the data of its events, so that an event
 * is ignored if the slot was given to another client while the event was pending. */
static int control(struct worker *worker, int op, int fd, uint32_t events, enum worker_event kind,
		   const struct client *client)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)kind << 56};

	if (client)
		event.data.u64 |= (uint64_t)client->serial << 16 | client->slot;
	return epoll_ctl(worker->epoll, op, fd, &event) < 0 ? -errno : 0;
}

int worker_watch(struct worker *worker, int fd, uint32_t events, enum worker_event kind,
		 const struct client *client)
{
	return control(worker, EPOLL_CTL_ADD, fd, events, kind, client);
}

void worker_rewatch(struct worker *worker, int fd, uint32_t events, enum worker_event kind,
		    const struct client *client)
{
	control(worker, EPOLL_CTL_MOD, fd, events, kind, client);
}

void worker_unwatch(struct worker *worker, int fd)
{
	if (fd >= 0)
		epoll_ctl(worker->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* The low bits of `data` contain the slot, as control() sets them. */
void worker_prefetch(const struct worker *worker, uint64_t data)
{
	__builtin_prefetch(worker->clients[data & 0xffff]);
}

struct client *worker_event_client(const struct worker *worker, uint64_t data,
				   enum worker_event *kind)
{
	struct client *client = worker->clients[data & 0xffff];

	*kind = (enum worker_event)(data >> 56);
	return *kind >= WORKER_SOCKET && client && client->phase != CLIENT_DEAD &&
			       client->serial == (uint32_t)(data >> 16)
		       ? client
		       : NULL;
}
