// SPDX-License-Identifier: MIT
/* The complete shared memory of one workload, for `kfdsched status PID --dump`. */
#include <errno.h>
#include <jansson.h>

#include "scheduler/daemon/operator/status.h"

/* Age of a time in us; null: it has not happened; 0: in the future, which a client can write. */
static json_t *age(uint64_t then_ns, uint64_t now_ns)
{
	if (then_ns == 0)
		return json_null();
	return json_integer(then_ns < now_ns ? (json_int_t)((now_ns - then_ns) / 1000) : 0);
}

static json_t *queue_json(uint32_t slot, const struct client_shm_queue *q)
{
	return json_pack(
		"{sI sI sI sI ss ss? ss sI sI sI sb sb so sI so so so so sI}", "slot",
		(json_int_t)slot, "context", (json_int_t)q->context, "id", (json_int_t)q->queue_id,
		"gpu_id", (json_int_t)q->gpu_id, "type", status_queue_type(q->type),
		"not_suspendable", status_not_suspendable(q), "state",
		client_shm_state_name(q->state), "priority", (json_int_t)q->priority, "percent",
		(json_int_t)q->percent, "cu_bits", (json_int_t)q->cu_bits, "hooked", (int)q->hooked,
		"cooperative", (int)q->cooperative, "ring_address", status_hex(q->ring_address),
		"ring_bytes", (json_int_t)q->ring_bytes, "rptr_address",
		status_hex(q->rptr_address), "wptr_address", status_hex(q->wptr_address),
		"hsa_queue", q->hsa_queue ? status_hex(q->hsa_queue) : json_null(), "cwsr_address",
		q->cwsr_address ? status_hex(q->cwsr_address) : json_null(), "cwsr_bytes",
		(json_int_t)q->cwsr_bytes);
}

json_t *status_client_shm_queues(const struct client_shm *shm, uint32_t *at, uint32_t *unreadable)
{
	uint32_t end = client_shm_queue_end(shm), few = *at + STATUS_PIECE;
	json_t *list = json_array();
	struct client_shm_queue queue;
	int error;

	for (; *at < end && *at < few; ++*at) {
		error = client_shm_queue_read(shm, *at, &queue);
		if (!error)
			json_array_append_new(list, queue_json(*at, &queue));
		else if (error != -ENOENT)
			++*unreadable;
	}
	if (*at >= end)
		*at = CLIENT_SHM_QUEUES;
	return list;
}

static json_t *nodes_json(const struct client_shm *shm, uint64_t now_ns)
{
	json_t *list = json_array();
	struct client_shm_node node;

	for (uint32_t i = 0; client_shm_node_read(shm, i, &node) == 0; i++)
		json_array_append_new(list, json_pack("{sI sb sI so so sI}", "gpu_id",
						      (json_int_t)node.gpu_id, "active",
						      (int)(node.activity & 1), "transitions",
						      (json_int_t)(node.activity >> 1),
						      "active_age_us", age(node.active_ns, now_ns),
						      "idle_age_us", age(node.idle_ns, now_ns),
						      "vram_bytes", (json_int_t)node.vram_bytes));
	return list;
}

static json_t *event_json(const struct client_shm_event *event, uint64_t now_ns)
{
	json_t *json = json_pack(
		"{sI so sI ss sI}", "number", (json_int_t)event->number, "age_us",
		age(event->ns, now_ns), "monotonic_us", (json_int_t)(event->ns / 1000), "kind",
		client_shm_event_name(event->kind), "value", (json_int_t)event->value);

	/* An event of the process as a whole has gpu_id 0 and no queue. */
	json_object_set_new(json, "context",
			    event->gpu_id ? json_integer(event->context) : json_null());
	json_object_set_new(json, "queue_id",
			    event->gpu_id ? json_integer(event->queue_id) : json_null());
	json_object_set_new(json, "gpu_id",
			    event->gpu_id ? json_integer(event->gpu_id) : json_null());
	return json;
}

json_t *status_client_shm_events(const struct client_shm *shm, uint64_t *at, uint64_t newest,
				 uint64_t now_ns)
{
	uint64_t few = newest - *at > STATUS_PIECE ? *at + STATUS_PIECE : newest;
	json_t *list = json_array();
	struct client_shm_event event;

	while (*at < few)
		if (client_shm_event_read(shm, ++*at, &event) == 0)
			json_array_append_new(list, event_json(&event, now_ns));
	return list;
}

static json_t *hold_cmd_json(uint32_t hold_cmd, uint32_t done)
{
	if (hold_cmd == 0)
		return json_null();
	return json_pack("{sI sb sb ss sb}", "number", (json_int_t)(hold_cmd >> 16), "hold",
			 (int)HOLD_CMD_IS_HOLD(hold_cmd), "prepare",
			 (int)(HOLD_CMD_IS_PREPARE(hold_cmd) != 0), "level",
			 client_shm_level_name(HOLD_CMD_LEVEL(hold_cmd)), "done",
			 (int)(hold_cmd == done));
}

json_t *status_client_shm(const struct client_shm *shm, uint64_t now_ns)
{
	uint64_t newest = __atomic_load_n(&shm->events_number, __ATOMIC_ACQUIRE);

	return json_pack(
		"{ss sI sb sb sb sb so sI sI sI sI sI sI so sI}", "runtime",
		status_runtime(shm_word(&shm->runtime)), "runtime_errno",
		(json_int_t)__atomic_load_n(&shm->runtime_errno, __ATOMIC_RELAXED), "own_session",
		(int)(shm_word(&shm->own_session) == CLIENT_SHM_OWN_SESSION), "by_updates",
		(int)(shm_word(&shm->own_session) == CLIENT_SHM_OWN_UPDATES), "session",
		(int)(shm_word(&shm->session) != 0), "suspended",
		(int)(shm_word(&shm->suspended) != 0), "order",
		hold_cmd_json(shm_word(&shm->hold_cmd), shm_word(&shm->hold_cmd_done)),
		"order_errno", (json_int_t)__atomic_load_n(&shm->hold_cmd_errno, __ATOMIC_RELAXED),
		"order_us", (json_int_t)shm_word(&shm->hold_cmd_us), "leaving",
		(json_int_t)shm_word(&shm->teardown_begin), "left",
		(json_int_t)shm_word(&shm->teardown_end), "released",
		(json_int_t)shm_word(&shm->teardown_granted), "queue_generation",
		(json_int_t)shm_word(&shm->queue_generation), "nodes", nodes_json(shm, now_ns),
		"events_number", (json_int_t)newest);
}
