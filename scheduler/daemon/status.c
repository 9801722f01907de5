// SPDX-License-Identifier: MIT
/* The daemon's state as JSON (docs/formats.md), in a memfd for who asks. */
#include <errno.h>
#include <jansson.h>
#include <linux/kfd_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/hist_json.h"
#include "scheduler/daemon/worker.h"

#define ROLE_ONLINE_FROM 8 /* the upper half of the priorities */

static json_t *hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	return json_string(text);
}

static const char *queue_type(uint32_t type)
{
	switch (type) {
	case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
		return "aql";
	case KFD_IOC_QUEUE_TYPE_COMPUTE:
		return "pm4";
	case KFD_IOC_QUEUE_TYPE_SDMA_XGMI:
		return "xgmi";
	default:
		return "sdma";
	}
}

static json_t *queue_json(const struct lane_queue *q)
{
	return json_pack("{sI sI ss so sI so so so sI sb}", "id", (json_int_t)q->queue_id, "gpu_id",
			 (json_int_t)q->gpu_id, "type", queue_type(q->type), "ring_address",
			 hex(q->ring_address), "ring_bytes", (json_int_t)q->ring_bytes,
			 "rptr_address", hex(q->rptr_address), "wptr_address", hex(q->wptr_address),
			 "hsa_queue", q->hsa_queue ? hex(q->hsa_queue) : json_null(), "priority",
			 (json_int_t)q->priority, "active", (int)q->active);
}

static json_t *queues_json(const struct client *client)
{
	json_t *list = json_array();
	struct lane_queue queue;

	for (uint32_t i = 0; i < LANE_QUEUES; i++)
		if (lane_queue_read(client->lane, i, &queue) == 0)
			json_array_append_new(list, queue_json(&queue));
	return list;
}

static json_t *client_nodes_json(const struct client *client)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < LANE_NODES && client->gpu_id[i]; i++)
		json_array_append_new(list,
				      json_pack("{sI sb}", "gpu_id", (json_int_t)client->gpu_id[i],
						"active", (int)(client->activity[i] & 1)));
	return list;
}

static const char *role(int priority)
{
	if (priority == PRIORITY_UNSET)
		return "seen";
	return priority >= ROLE_ONLINE_FROM ? "online" : "offline";
}

static const char *runtime(uint32_t state)
{
	switch (state) {
	case LANE_RUNTIME_ENABLED:
		return "enabled";
	case LANE_RUNTIME_NEVER:
		return "never";
	default:
		return "unknown";
	}
}

/* What a client says of itself may be no UTF-8. */
static json_t *plain(const char *text)
{
	char copy[PROTOCOL_GROUP_MAX];

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *c = copy; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return json_string(copy);
}

static json_t *client_json(const struct worker *worker, const struct client *client, uint64_t now)
{
	static const char *const states[] = {"running", "suspending", "suspended", "resuming"};
	struct core_view view = {0};
	char name[16];
	bool trap;

	core_look(worker->core, client->id, now, &view);
	trap = view.capability == CORE_ABLE && view.spared == CORE_SPARED_NOT;
	peer_name(client->peer.pid, name);
	return json_pack("{sI ss so ss so ss ss ss ss sb sI sI sI sI so so}", "pid",
			 (json_int_t)client->peer.pid, "comm", name, "priority",
			 client->priority == PRIORITY_UNSET ? json_null()
							    : json_integer(client->priority),
			 "role", role(client->priority), "group", plain(client->group), "level",
			 trap ? "trap" : "observe", "reason", trap ? "" : client->reason, "runtime",
			 runtime(client->runtime), "state", states[view.state], "active",
			 (int)view.active, "suspends", (json_int_t)view.suspends, "resumes",
			 (json_int_t)view.resumes, "failures", (json_int_t)view.failures,
			 "suspended_us", (json_int_t)(view.suspended_ns / 1000), "nodes",
			 client_nodes_json(client), "queues", queues_json(client));
}

static json_t *clients_json(const struct worker *worker, uint64_t now)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < worker->client_end; i++)
		if (worker->clients[i] && worker->clients[i]->phase == CLIENT_SERVED)
			json_array_append_new(list, client_json(worker, worker->clients[i], now));
	return list;
}

static json_t *nodes_json(const struct worker *worker)
{
	const struct board *board = worker->board;
	json_t *list = json_array();

	for (uint32_t i = 0; i < board->node_count; i++)
		json_array_append_new(list, json_pack("{sI sb sI}", "gpu_id",
						      (json_int_t)board->nodes[i].gpu_id, "urgent",
						      (int)board->nodes[i].urgent, "suspended",
						      (json_int_t)board->nodes[i].suspended));
	return list;
}

static json_t *totals_json(const struct totals *t)
{
	return json_pack("{sI sI sI so so so so}", "suspends", (json_int_t)t->suspends, "resumes",
			 (json_int_t)t->resumes, "failures", (json_int_t)t->failures,
			 "detection_ns", hist_to_json(&t->detection), "holdover_ns",
			 hist_to_json(&t->holdover), "suspend_ns", hist_to_json(&t->suspend),
			 "resume_ns", hist_to_json(&t->resume));
}

static char *status_text(const struct worker *worker)
{
	uint64_t now = clock_ns();
	json_t *root =
		json_pack("{s{sI sI sI ss sI} so so so}", "daemon", "pid", (json_int_t)getppid(),
			  "worker_pid", (json_int_t)getpid(), "uptime_us",
			  (json_int_t)((now - worker->beat->started_ns) / 1000), "policy", "strict",
			  "slow_suspend_us", (json_int_t)(worker->config.slow_suspend_ns / 1000),
			  "nodes", nodes_json(worker), "processes", clients_json(worker, now),
			  "totals", totals_json(&worker->totals));
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

	json_decref(root);
	return text;
}

int status_answer(struct worker *worker, int socket)
{
	struct protocol_welcome welcome = {.magic = PROTOCOL_MAGIC, .version = PROTOCOL_VERSION};
	char *text = status_text(worker);
	int error = -ENOMEM;
	int fd = -1;

	if (!text)
		return -ENOMEM;
	welcome.bytes = strlen(text);
	fd = memfd_create("kfdschedd-status", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, text, welcome.bytes) == (ssize_t)welcome.bytes)
		error = protocol_send(socket, &welcome, sizeof(welcome), &fd, 1);
	if (fd >= 0)
		close(fd);
	free(text);
	return error;
}
