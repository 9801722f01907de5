// SPDX-License-Identifier: MIT
#include "scheduler/daemon/clients/client_life.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "kfd/topology.h"
#include "scheduler/daemon/metrics/metrics.h"
#include "scheduler/daemon/operator/events.h"

/* ---- beginning ---- */

struct client *client_new(struct worker *worker, int socket, uint64_t now)
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

void client_served(struct worker *worker, struct client *client)
{
	client->phase = CLIENT_SERVED;
	worker->by_core[core_index(client->id)] = client;
}

uint64_t client_asker(const struct client *client)
{
	return (uint64_t)client->serial << 16 | client->slot;
}

/* ---- service ---- */

void client_why_never(const struct client *client, enum reason_code code, struct reason *why)
{
	uint32_t error = shm_word((const uint32_t *)&client->shm->runtime_errno);
	char waves[CWSR_WHY];

	/* The client knows the reason, but client shared memory has no room for it, so the daemon
	 * determines it again. */
	if (error == EOPNOTSUPP && cwsr_is_missing(waves))
		reason_set(why, REASON_waves_not_saved, 0, -EOPNOTSUPP, "%s", waves);
	else
		reason_set(why, code, 0, -EOPNOTSUPP, "%s", strerror(error & 0xfff));
}

void client_cannot(struct worker *worker, struct client *client, const struct reason *why)
{
	client->refused = true;
	client->reason = *why;
	feed_set_capability(&worker->feed, client->id, CORE_REFUSED);
	log_client(&client->log, "process %d (%s): level observe: %s", (int)client->peer.pid,
		   client->name, why->text);
	events_level(worker, client, false);
}

void client_send_status(struct client *client, int status, const char *text)
{
	const struct protocol_welcome head = {.magic = PROTOCOL_MAGIC,
					      .version = client->version,
					      .status = status,
					      .bytes = strlen(text)};

	protocol_send_text(client->socket, &head, text);
}

void client_reply(struct worker *worker, struct client *client, int status, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	client_send_status(client, status, text);
	if (status)
		log_debug("control request of process %d, user %u, refused: %s",
			  (int)client->peer.pid, client->peer.uid, text);
	client_gone(worker, client, NULL);
}

void client_command(struct client *client, enum client_shm_level level, uint32_t what, uint64_t now)
{
	const char any = 0;

	client->hold_cmd = HOLD_CMD(level, what, ++client->hold_cmd_number);
	client->hold_cmd_pending = true;
	client->hold_acked = false;
	client->hold_cmd_ns = now;
	__atomic_store_n(&client->shm->hold_cmd, client->hold_cmd, __ATOMIC_SEQ_CST);
	/* If there is no room, the client has wake-ups that it has not read yet, so none is
	 * needed. */
	protocol_send(client->socket, &any, sizeof(any), NULL, 0);
}

/* ---- announced calls ---- */

static void want_release(struct worker *worker, struct client *client)
{
	if (client->wants_release)
		return;
	client->wants_release = true;
	client->release_at = worker->release_count;
	worker->releasing[worker->release_count++] = client;
}

/* Removes the client from worker->releasing. The last entry takes the place of the removed one. */
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

bool client_scan_teardown(struct worker *worker, struct client *client)
{
	/* read `teardown_end` first, so that it is never ahead of `teardown_begin` */
	uint32_t teardown_end = shm_word(&client->shm->teardown_end);
	uint32_t teardown_begin = shm_word(&client->shm->teardown_begin);

	if (teardown_end == client->teardown_end && teardown_begin == client->teardown_begin)
		return false;
	client->teardown_end = teardown_end;
	client->teardown_begin = teardown_begin;
	feed_set_teardown(&worker->feed, client->id, teardown_begin != teardown_end);
	want_release(worker, client);
	return true;
}

static void release(struct worker *worker, struct client *client, uint64_t now)
{
	struct core_view view;

	if (!core_view_client(worker->core, client->id, now, &view) || view.state != CORE_RUNNING)
		return;
	want_no_release(worker, client);
	__atomic_store_n(&client->shm->teardown_granted, client->teardown_begin, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &client->shm->teardown_granted, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void client_release_all(struct worker *worker, uint64_t now)
{
	/* From the end, because release() moves the last entry to the removed one. */
	for (uint32_t i = worker->release_count; i-- > 0;)
		release(worker, worker->releasing[i], now);
}

/* ---- end ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void end_service(struct worker *worker, struct client *client, const char *why)
{
	uint64_t now = clock_ns();

	metrics_settle(worker, client, now);
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && client->seen[i].gpu_id; i++)
		if (client->seen[i].activity & 1)
			nodes_work(&worker->nodes, client->seen[i].gpu_id, false, now);
	worker->by_core[core_index(client->id)] = NULL;
	if (why)
		log_user(&worker_user(worker, client)->log, "process %d (%s) %s",
			 (int)client->peer.pid, client->name, why);
	events_went(worker, client, why ? why : "could not be registered");
}

void client_gone(struct worker *worker, struct client *client, const char *why)
{
	enum client_phase before = client->phase;

	if (before == CLIENT_DEAD)
		return;
	if (before == CLIENT_SERVED)
		end_service(worker, client, why);
	feed_remove(&worker->feed, client->id);
	want_no_release(worker, client);
	if (client->executor) {
		executor_send(client->executor, EXECUTOR_KICK | EXECUTOR_QUIT);
		worker->by_executor[executor_number(client->executor)] = NULL;
		worker->orphans[worker->orphan_count++] = client->executor;
		client->executor = NULL;
	}
	if (client->log.left_out)
		log_user(&worker_user(worker, client)->log,
			 "process %d (%s): %u log lines suppressed by the rate limit",
			 (int)client->peer.pid, client->name, client->log.left_out);
	reader_forget(client_asker(client));
	client->phase = CLIENT_DEAD;
	worker->client_exited(worker, client, before);
	worker->dead++;
	/* Remove the descriptors from epoll before close(), because copies may stay open: wake_fd
	 * in the process, pidfd in the executor, the socket in admission.c. */
	worker_unwatch(worker, client->wake_fd);
	worker_unwatch(worker, client->peer.pidfd);
	worker_unwatch(worker, client->socket);
	if (client->admitted)
		admission_left(&worker->admission, client->uid, client->socket, worker->now_ns);
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
	worker->external_count -= client->external != NULL;
	free(client->external);
	free(client);
}
