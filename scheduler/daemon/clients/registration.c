// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/client_life.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "scheduler/daemon/clients/client_attrs.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/clients/client_scan.h"
#include "scheduler/daemon/clients/external.h"
#include "scheduler/daemon/operator/events.h"
#include "scheduler/daemon/operator/lease.h"
#include "scheduler/daemon/operator/query.h"
#include "scheduler/daemon/reader/reader.h"

/* Delay between two checks whether the process of a workload with a closed connection runs another
 * program; doubled each time, from the minimum to the maximum. */
#define HUNG_UP_MIN_NS 20000000u
#define HUNG_UP_MAX_NS 1000000000u
#define LOST_NS 1000000000u /* time for a process to end after its debug session has ended */

static void refuse(struct worker *worker, struct client *client, int error)
{
	log_debug("connection refused: %s", strerror(-error));
	admission_refuse(client->socket, error);
	client_gone(worker, client, NULL);
}

/* Ends the earlier client of a process that registers again, after exec. */
static void replace(struct worker *worker, const struct client *client)
{
	struct client *other;

	for (uint32_t i = 0; (other = worker_next(worker, CLIENT_SERVED, &i));)
		if (other != client && other->peer.pid == client->peer.pid)
			client_gone(worker, other,
				    "registered again; the earlier registration ends");
}

static int send_welcome(struct worker *worker, struct client *client, int shm_fd)
{
	const struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC,
						 .version = client->version};
	const int fds[PROTOCOL_WELCOME_FDS] = {
		shm_fd, nodes_daemon_shm(&worker->nodes, client->version), client->wake_fd};

	if (fds[1] < 0)
		return fds[1];
	return protocol_send(client->socket, &welcome, sizeof(welcome), fds, PROTOCOL_WELCOME_FDS);
}

/* Creates shared memory for a workload (process with the shim) and sends the welcome. Returns 0 or
 * a negative errno. */
static int serve(struct worker *worker, struct client *client, uint64_t now)
{
	int shm_fd = client_shm_create(protocol_client_shm(client->version), &client->shm), error;

	if (shm_fd < 0)
		return shm_fd;
	client->shm->priority = client->control.own_priority;
	client->shm->slo_us = client->control.own_slo_us;
	/* Each client has an eventfd of its own, because any client could drain or fill a shared
	 * one. It is watched edge-triggered, so it is never read. */
	client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = client->wake_fd < 0 ? -errno : 0;
	if (!error)
		error = worker_watch(worker, client->peer.pidfd, EPOLLIN, WORKER_PIDFD, client);
	if (!error)
		error = worker_watch(worker, client->wake_fd, EPOLLIN | EPOLLET, WORKER_WAKE,
				     client);
	if (!error) {
		client->id = feed_add(&worker->feed, client->tenant, client->group_number,
				      client->priority, now);
		error = client->id ? 0 : -ENOSPC;
		feed_set_slo(&worker->feed, client->id, client->slo_us * UINT64_C(1000));
		client_attrs_slot(worker, client, now);
	}
	if (!error)
		error = send_welcome(worker, client, shm_fd);
	close(shm_fd);
	return error;
}

static void register_workload(struct worker *worker, struct client *client, uint64_t now)
{
	int error = peer_identify(client->socket, client->since_ns, reader_facts, &client->peer);
	struct proc_attrs subject;

	if (error == -EINPROGRESS)
		return;
	if (error) {
		log_user(&worker_user(worker, client)->log, "a process cannot be registered: %s",
			 error == -ESRCH ? "it has ended, or is not in the daemon's pid namespace"
					 : strerror(-error));
		refuse(worker, client, error);
		return;
	}
	error = reader_subject(client->peer.pid, &subject);
	if (error == -EINPROGRESS)
		return;
	replace(worker, client);
	peer_name(client->peer.pid, client->name);
	/* -EAGAIN: the attributes cannot be read now, so the process is refused. A process that is
	 * gone (-ESRCH) is registered without attributes; its pidfd reports its end soon. */
	if (error != -EAGAIN) {
		client_attrs_init(worker, client, &subject);
		error = serve(worker, client, now);
	}
	if (error) {
		log_user(&worker_user(worker, client)->log,
			 "process %d (%s): cannot be registered: %s", (int)client->peer.pid,
			 client->name, strerror(-error));
		refuse(worker, client, error);
		return;
	}
	client_served(worker, client);
	client_explain(client);
	log_user(&worker_user(worker, client)->log,
		 "process %d (%s): registered with priority %d, user %u", (int)client->peer.pid,
		 client->name, client->priority, client->peer.uid);
	events_came(worker, client);
	lease_restore(worker, client, now);
}

/* Checks the hello of a workload (process with the shim) and stores what it requests for itself.
 * Returns 0; -EINVAL: a value is not allowed; -ESHUTDOWN: the daemon is ending. */
static int take_hello(const struct worker *worker, struct client *client)
{
	const struct protocol_hello *hello = &client->hello;

	if (hello->kind != PROTOCOL_SHIM || hello->priority < PRIORITY_UNSET ||
	    hello->priority > PRIORITY_ONLINE || !memchr(hello->group, '\0', sizeof(hello->group)))
		return -EINVAL;
	if (worker->stopping)
		return -ESHUTDOWN;
	client->control.own_priority = hello->priority;
	client->control.own_slo_us = hello->slo_us;
	client->attrs.level = (enum protocol_level)hello->level;
	memcpy(client->attrs.group, hello->group, sizeof(client->attrs.group));
	return 0;
}

/* Handles the hello of a client. If it needs an answer of kfdschedd-read, it returns, and runs
 * again from the beginning when the answer has arrived. */
static void handle_hello(struct worker *worker, struct client *client, uint64_t now)
{
	const struct protocol_hello *hello = &client->hello;
	int error = 0;

	client->version = protocol_common(hello);
	if (!client->version) {
		error = -EPROTO;
	} else if (hello->kind == PROTOCOL_CONTROL) {
		control_request(worker, client, hello, now);
	} else if (hello->kind == PROTOCOL_EVENTS) {
		error = events_subscribe(worker, client);
	} else if (hello->kind == PROTOCOL_RECENT) {
		query_begin(worker, client, QUERY_OF_EVENTS);
	} else if (hello->kind != PROTOCOL_QUERY) {
		error = take_hello(worker, client);
		if (!error)
			register_workload(worker, client, now);
	} else if (hello->pid < 0) {
		error = -ESRCH;
	} else {
		bool brief = hello->pid == 0 && hello->op == PROTOCOL_BRIEF;

		query_begin(worker, client, brief ? QUERY_BRIEF : hello->pid);
	}
	if (error)
		refuse(worker, client, error);
}

static void greet(struct worker *worker, struct client *client, uint64_t now)
{
	reader_begin(client_asker(client));
	handle_hello(worker, client, now);
	reader_end();
}

void client_accept(struct worker *worker, const struct admitted *admitted, uint64_t now)
{
	struct client *client = client_new(worker, admitted->socket, admitted->message.accepted_ns);

	if (!client) {
		admission_refuse(admitted->socket, -ENOSPC);
		admission_left(&worker->admission, admitted->owner, admitted->socket, now);
		return;
	}
	client->admitted = true;
	client->uid = admitted->owner;
	client->trusted = admitted->trusted;
	client->hello = admitted->message.hello;
	/* The socket is shut down for reading, so EPOLLHUP, which epoll always reports, is the
	 * only event needed. */
	if (worker_watch(worker, client->socket, EPOLLET, WORKER_SOCKET, client))
		client_gone(worker, client, NULL);
	else
		greet(worker, client, now);
}

void client_replied(struct worker *worker, uint64_t asker, uint64_t now)
{
	struct client *client = worker->clients[asker & 0xffff];

	if (!client || client->phase == CLIENT_DEAD || client_asker(client) != asker)
		return;
	if (client->phase == CLIENT_GREETING)
		greet(worker, client, now);
	else
		client_overdue(worker, client, now);
}

void client_hung_up(struct worker *worker, struct client *client, uint64_t now)
{
	if (client->phase != CLIENT_SERVED) {
		client_gone(worker, client, NULL);
		return;
	}
	/* A hang-up is not the end of the process. But exec closes the socket, too, and then the
	 * registered program has ended. This can become visible a little later, because exec closes
	 * descriptors before the new program has its stack, by which it is recognized. */
	client->hung_up_ns = now;
	client->hung_up_wait_ns = HUNG_UP_MIN_NS;
	client_overdue(worker, client, now);
}

/* Checks whether a process whose connection was closed runs another program now. */
static void read_program(struct worker *worker, struct client *client, uint64_t now)
{
	int replaced = peer_replaced(&client->peer, reader_facts);

	if (replaced == -EINPROGRESS)
		return;
	if (replaced > 0) {
		client_gone(worker, client, "runs another program now; its registration ends");
		return;
	}
	client->hung_up_ns = now + client->hung_up_wait_ns;
	if (client->hung_up_wait_ns < HUNG_UP_MAX_NS)
		client->hung_up_wait_ns *= 2;
}

static void read_client(struct worker *worker, struct client *client, uint64_t now)
{
	if (client->phase == CLIENT_SERVED && client->hung_up_ns && now >= client->hung_up_ns)
		read_program(worker, client, now);
	if (client->phase == CLIENT_SERVED && client_attrs_overdue(worker, client, now) &&
	    client->external)
		external_rules_again(worker, client);
	if (client->phase == CLIENT_SERVED && client->external) {
		external_overdue(worker, client, now);
		if (client->phase == CLIENT_DEAD)
			return;
		client_scan(worker, client, now); /* it has no eventfd to wake the loop */
	}
	lease_overdue(worker, client, now);
	if (client->phase == CLIENT_READING)
		events_overdue(client);
	if (client->phase == CLIENT_SERVED && client->hold_cmd_level)
		hold_cmd_overdue(worker, client, now);
	level_step(worker, client, now);
	if (client->phase == CLIENT_SERVED && client->lost_ns && now > client->lost_ns + LOST_NS) {
		client->lost_ns = 0;
		client->refused = false;
		level_fall_by(worker, client, REASON_session_ended, -ECONNRESET, now);
	}
}

void client_overdue(struct worker *worker, struct client *client, uint64_t now)
{
	if (client->phase == CLIENT_GREETING) /* greet() has its answers */
		return;
	reader_begin(client_asker(client));
	read_client(worker, client, now);
	reader_end();
}
