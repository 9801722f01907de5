// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/client.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "scheduler/daemon/admission/greeter.h"
#include "scheduler/daemon/clients/client_level.h"
#include "scheduler/daemon/clients/external.h"
#include "scheduler/daemon/clients/hold_command.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/reader/reader.h"
#include "scheduler/daemon/worker.h"

/* Delay between two checks of the program of a workload that has hung up; doubled each time. */
#define HUNG_UP_MIN_NS 20000000u
#define HUNG_UP_MAX_NS 1000000000u
#define LOST_NS 1000000000u /* time for a process to end after its session has ended */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- registration ---- */

static struct client *client_new(struct worker *worker, int socket, uint64_t now)
{
	struct client *client;
	uint32_t slot = 0;

	while (slot < worker->client_end && worker->clients[slot])
		slot++;
	if (slot == WORKER_CLIENTS)
		return NULL;
	client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->slot = slot;
	client->serial = ++worker->serial;
	client->socket = socket;
	client->control.pidfd = -1;
	client->wake_fd = -1;
	client->peer.pidfd = -1;
	client->since_ns = now;
	worker->clients[slot] = client;
	if (slot == worker->client_end)
		worker->client_end++;
	return client;
}

static void refuse(struct worker *worker, struct client *client, int error)
{
	const struct protocol_welcome welcome = {
		.magic = PROTOCOL_MAGIC, .version = PROTOCOL_OLDEST, .status = error};

	log_debug("connection refused: %s", strerror(-error));
	protocol_send(client->socket, &welcome, sizeof(welcome), NULL, 0);
	client_gone(worker, client, NULL);
}

struct client *client_of_pid(const struct worker *worker, pid_t pid)
{
	for (uint32_t i = 0; i < worker->client_end; i++)
		if (worker->clients[i] && worker->clients[i]->phase == CLIENT_SERVED &&
		    worker->clients[i]->peer.pid == pid)
			return worker->clients[i];
	return NULL;
}

/* A process that registers again, after exec, replaces its earlier client. */
static void replace(struct worker *worker, const struct client *client)
{
	for (uint32_t i = 0; i < worker->client_end; i++) {
		struct client *other = worker->clients[i];

		if (other && other != client && other->phase == CLIENT_SERVED &&
		    other->peer.pid == client->peer.pid)
			client_gone(worker, other,
				    "registered again; the earlier registration "
				    "ends");
	}
}

static int send_welcome(struct worker *worker, struct client *client, int shm_fd)
{
	const struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC,
						 .version = client->version};
	const int fds[PROTOCOL_WELCOME_FDS] = {shm_fd, nodes_daemon_shm(worker, client->version),
					       client->wake_fd};

	if (fds[1] < 0)
		return fds[1];
	return protocol_send(client->socket, &welcome, sizeof(welcome), fds, PROTOCOL_WELCOME_FDS);
}

/* Creates the shared memory and sends it to the workload. Returns 0 or a negative errno. */
static int serve(struct worker *worker, struct client *client, uint64_t now)
{
	int shm_fd = client_shm_create(protocol_client_shm(client->version), &client->shm), error;

	if (shm_fd < 0)
		return shm_fd;
	client->shm->priority = client->control.own_priority;
	client->shm->slo_us = client->attrs.slo_us;
	/* Each client has an eventfd of its own, because any client could drain or fill a shared
	 * one. It is watched edge-triggered, so it is never read. */
	client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	error = client->wake_fd < 0 ? -errno : 0;
	if (!error)
		error = worker_watch(worker, client->peer.pidfd, EPOLLIN, WORKER_PIDFD,
				     client->slot);
	if (!error)
		error = worker_watch(worker, client->wake_fd, EPOLLIN | EPOLLET, WORKER_WAKE,
				     client->slot);
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
		log_user(&admission_user(worker, client->uid)->log,
			 "a process cannot be registered: "
			 "%s",
			 error == -ESRCH ? "it has ended, or is not in the daemon's pid "
					   "namespace"
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
		log_user(&admission_user(worker, client->uid)->log,
			 "process %d (%s): cannot be "
			 "registered: %s",
			 (int)client->peer.pid, client->name, strerror(-error));
		refuse(worker, client, error);
		return;
	}
	client->phase = CLIENT_SERVED;
	worker->by_core[core_index(client->id)] = client;
	client_explain(client);
	log_user(&admission_user(worker, client->uid)->log,
		 "process %d (%s): registered with "
		 "priority %d, user %u",
		 (int)client->peer.pid, client->name, client->priority, client->peer.uid);
	events_came(worker, client);
	control_came(worker, client, now);
}

struct client *client_adopt(struct worker *worker, const struct socket_peer *peer,
			    const struct proc_attrs *subject, int priority,
			    struct external *external, uint64_t now)
{
	struct client *client = client_new(worker, -1, now);
	int shm_fd;

	if (!client) {
		close(peer->pidfd);
		return NULL;
	}
	client->peer = *peer;
	client->priority = client->control.own_priority = priority;
	client->external = external;
	peer_name(peer->pid, client->name);
	client_attrs_init(worker, client, subject);
	shm_fd = client_shm_create(CLIENT_SHM_VERSION, &client->shm);
	if (shm_fd >= 0) {
		close(shm_fd);
		client->shm->priority = priority;
		client->id = feed_add(&worker->feed, client->tenant, client->group_number, priority,
				      now);
		client_attrs_slot(worker, client, now);
	}
	if (!client->id || worker_watch(worker, peer->pidfd, EPOLLIN, WORKER_PIDFD, client->slot)) {
		client->external = NULL; /* on failure the caller keeps it */
		client_gone(worker, client, NULL);
		return NULL;
	}
	client->phase = CLIENT_SERVED;
	worker->by_core[core_index(client->id)] = client;
	return client;
}

static uint64_t asker_of(const struct client *client)
{
	return (uint64_t)client->serial << 16 | client->slot;
}

/* Handles the hello; runs again from the beginning when an answer has arrived. */
static void handshake_done(struct worker *worker, struct client *client, uint64_t now)
{
	const struct protocol_hello *hello = &client->hello;

	client->version = protocol_common(hello);
	if (!client->version) {
		refuse(worker, client, -EPROTO);
		return;
	}
	if (hello->kind == PROTOCOL_CONTROL) {
		control_request(worker, client, hello, now);
		return;
	}
	if (hello->kind == PROTOCOL_EVENTS) {
		int error = events_subscribe(worker, client);

		if (error)
			refuse(worker, client, error);
		return;
	}
	if (hello->kind == PROTOCOL_QUERY && hello->pid < 0) {
		refuse(worker, client, -ESRCH);
		return;
	}
	if (hello->kind == PROTOCOL_QUERY || hello->kind == PROTOCOL_RECENT) {
		bool brief = hello->pid == 0 && hello->op == PROTOCOL_BRIEF;

		query_begin(worker, client,
			    hello->kind == PROTOCOL_RECENT ? QUERY_OF_EVENTS
			    : brief			   ? QUERY_BRIEF
							   : hello->pid);
		return;
	}
	if (hello->kind != PROTOCOL_SHIM || hello->priority < PRIORITY_UNSET ||
	    hello->priority > PRIORITY_ONLINE ||
	    !memchr(hello->group, '\0', sizeof(hello->group))) {
		refuse(worker, client, -EINVAL);
		return;
	}
	if (worker->stopping) {
		refuse(worker, client, -ESHUTDOWN);
		return;
	}
	client->control.own_priority = hello->priority;
	client->attrs.slo_us = hello->slo_us;
	client->attrs.level = (enum protocol_level)hello->level;
	memcpy(client->attrs.group, hello->group, sizeof(client->attrs.group));
	register_workload(worker, client, now);
}

static void greet(struct worker *worker, struct client *client, uint64_t now)
{
	reader_begin(asker_of(client));
	handshake_done(worker, client, now);
	reader_end();
}

void client_accept(struct worker *worker, int socket, uid_t owner, bool trusted,
		   const struct admission_message *message, uint64_t now)
{
	const struct protocol_welcome full = {
		.magic = PROTOCOL_MAGIC, .version = PROTOCOL_OLDEST, .status = -ENOSPC};
	struct client *client = client_new(worker, socket, message->accepted_ns);

	if (!client) {
		protocol_send(socket, &full, sizeof(full), NULL, 0);
		admission_left(worker, owner, socket);
		return;
	}
	client->admitted = true;
	client->uid = owner;
	client->trusted = trusted;
	client->hello = message->hello;
	/* The socket is shut down for reading, so EPOLLHUP, which epoll always reports, is the
	 * only event needed. */
	if (worker_watch(worker, socket, EPOLLET, WORKER_SOCKET, client->slot))
		client_gone(worker, client, NULL);
	else
		greet(worker, client, now);
}

void client_replied(struct worker *worker, uint64_t asker, uint64_t now)
{
	struct client *client = worker->clients[asker & 0xffff];

	if (!client || client->phase == CLIENT_DEAD || asker_of(client) != asker)
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
	 * registered program has ended. This can become visible a little later, because exec
	 * closes descriptors before the new program has its stack. */
	client->hung_up_ns = now;
	client->hung_up_wait_ns = HUNG_UP_MIN_NS;
	client_overdue(worker, client, now);
}

/* ---- service ---- */

void client_cannot(struct worker *worker, struct client *client, const char *why)
{
	client->refused = true;
	snprintf(client->reason, sizeof(client->reason), "%s", why);
	feed_set_capability(&worker->feed, client->id, CORE_REFUSED);
	log_client(&client->log, "process %d (%s): level observe: %s", (int)client->peer.pid,
		   client->name, why);
	events_level(worker, client, false);
}

void client_want_release(struct worker *worker, struct client *client)
{
	if (client->wants_release)
		return;
	client->wants_release = true;
	client->release_at = worker->release_count;
	worker->releasing[worker->release_count++] = client;
}

/* Takes the client off worker->releasing, where the last entry gets its place. */
static void want_no_release(struct worker *worker, struct client *client)
{
	struct client *last;

	if (!client->wants_release)
		return;
	client->wants_release = false;
	last = worker->releasing[--worker->release_count];
	worker->releasing[client->release_at] = last;
	last->release_at = client->release_at;
}

void client_release(struct worker *worker, struct client *client, uint64_t now)
{
	struct core_view view;

	if (!core_view_client(worker->core, client->id, now, &view) || view.state != CORE_RUNNING)
		return;
	want_no_release(worker, client);
	__atomic_store_n(&client->shm->teardown_granted, client->teardown_begin, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &client->shm->teardown_granted, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The connection was closed: checks whether the process runs another program now. */
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
	if (client->phase == CLIENT_SERVED)
		client_attrs_overdue(worker, client, now);
	if (client->phase == CLIENT_SERVED && client->external) {
		external_overdue(worker, client, now);
		if (client->phase == CLIENT_DEAD)
			return;
		client_scan(worker, client, now); /* it has no eventfd to wake the loop */
	}
	control_overdue(worker, client, now);
	if (client->phase == CLIENT_READING)
		events_overdue(client);
	if (client->phase == CLIENT_SERVED && client->hold_cmd_level)
		hold_cmd_overdue(worker, client, now);
	level_step(worker, client, now);
	if (client->phase == CLIENT_SERVED && client->lost_ns && now > client->lost_ns + LOST_NS) {
		client->lost_ns = 0;
		client->refused = false;
		level_fall(worker, client, -ECONNRESET,
			   "its debug session was ended by another process", now);
	}
}

void client_overdue(struct worker *worker, struct client *client, uint64_t now)
{
	if (client->phase == CLIENT_GREETING) /* greet() has its answers */
		return;
	reader_begin(asker_of(client));
	read_client(worker, client, now);
	reader_end();
}

/* ---- end ---- */

void client_gone(struct worker *worker, struct client *client, const char *why)
{
	if (client->phase == CLIENT_DEAD)
		return;
	if (client->phase == CLIENT_SERVED) {
		metrics_settle(worker, client, clock_ns());
		for (uint32_t i = 0; i < CLIENT_SHM_NODES && client->gpu_id[i]; i++)
			if (client->activity[i] & 1)
				nodes_work(worker, client->gpu_id[i], false, clock_ns());
		worker->by_core[core_index(client->id)] = NULL;
		if (why)
			log_user(&admission_user(worker, client->uid)->log, "process %d (%s) %s",
				 (int)client->peer.pid, client->name, why);
		events_went(worker, client, why ? why : "could not be registered");
	}
	if (client->phase == CLIENT_READING)
		events_gone(worker);
	feed_remove(&worker->feed, client->id);
	want_no_release(worker, client);
	if (client->executor) {
		executor_send(client->executor, EXECUTOR_KICK | EXECUTOR_QUIT);
		worker->by_executor[executor_number(client->executor)] = NULL;
		worker->orphans[worker->orphan_count++] = client->executor;
		client->executor = NULL;
	}
	if (client->log.left_out)
		log_user(&admission_user(worker, client->uid)->log,
			 "process %d (%s): %u log lines suppressed by the rate limit",
			 (int)client->peer.pid, client->name, client->log.left_out);
	scan_limit_forget(worker, client);
	reader_forget(asker_of(client));
	query_end(worker, client);
	client->phase = CLIENT_DEAD;
	control_gone(worker, client);
	worker->dead++;
	/* The process has a copy of the first descriptor, the executor of the second, and
	 * admission.c may keep the third open: remove all of them from epoll before they are
	 * closed. */
	worker_unwatch(worker, client->wake_fd);
	worker_unwatch(worker, client->peer.pidfd);
	worker_unwatch(worker, client->socket);
	if (client->admitted)
		admission_left(worker, client->uid, client->socket);
	close_fd(&client->wake_fd);
	close_fd(&client->peer.pidfd);
}

void client_free(struct worker *worker, struct client *client)
{
	worker->dead--;
	worker->clients[client->slot] = NULL;
	while (worker->client_end && !worker->clients[worker->client_end - 1])
		worker->client_end--;
	if (client->shm)
		client_shm_unmap(client->shm);
	free(client->external);
	free(client);
}
