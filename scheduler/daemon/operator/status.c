// SPDX-License-Identifier: MIT
/* The daemon's state as JSON (docs/reference/status.md), for query.c. */

#include "scheduler/daemon/operator/status.h"
#include "common/json_util.h"
#include "common/text.h"
#include "kfd/exception.h"
#include "kfd/sysfs.h"
#include "scheduler/daemon/clients/external.h"

#define ROLE_ONLINE_FROM 8 /* the upper half of the priorities counts as online */

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
	case CLIENT_SHM_TYPE_DRM:
		return "drm";
	default:
		return "sdma";
	}
}

static const char *not_suspendable(const struct client_shm_queue *q)
{
	switch (q->type) {
	case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL:
	case KFD_IOC_QUEUE_TYPE_COMPUTE:
		return q->context ? "it belongs to a secondary KFD context of the process" : NULL;
	case CLIENT_SHM_TYPE_DRM:
		return "it is a DRM user queue, which the driver cannot suspend";
	default:
		return "only compute queues are suspended";
	}
}

static json_t *queue_json(const struct client_shm_queue *q)
{
	return json_pack("{sI sI ss ss? so sI so so so sI sb}", "id", (json_int_t)q->queue_id,
			 "gpu_id", (json_int_t)q->gpu_id, "type", queue_type(q->type),
			 "not_suspendable", not_suspendable(q), "ring_address",
			 hex(q->ring_address), "ring_bytes", (json_int_t)q->ring_bytes,
			 "rptr_address", hex(q->rptr_address), "wptr_address", hex(q->wptr_address),
			 "hsa_queue", q->hsa_queue ? hex(q->hsa_queue) : json_null(), "priority",
			 (json_int_t)q->priority, "active",
			 (int)(q->state == CLIENT_SHM_QUEUE_ACTIVE));
}

static void external_queues_json(const struct external *external, json_t *list)
{
	uint32_t n;
	const struct sysfs_queue *q = external_queues(external, &n);

	for (; n; n--, q++)
		json_array_append_new(
			list,
			json_pack("{sI sI ss ss? sn sI sn sn sn sn sn}", "id", (json_int_t)q->id,
				  "gpu_id", (json_int_t)q->gpu_id, "type", sysfs_type_name(q),
				  "not_suspendable",
				  sysfs_is_compute(q) ? NULL : "only compute queues are suspended",
				  "ring_address", "ring_bytes", (json_int_t)q->ring_bytes,
				  "rptr_address", "wptr_address", "hsa_queue", "priority",
				  "active"));
}

static json_t *shm_queue_json(uint32_t slot, const struct client_shm_queue *q)
{
	return json_pack(
		"{sI sI sI sI ss ss? ss sI sI sI sb sb so sI so so so so sI}", "slot",
		(json_int_t)slot, "context", (json_int_t)q->context, "id", (json_int_t)q->queue_id,
		"gpu_id", (json_int_t)q->gpu_id, "type", queue_type(q->type), "not_suspendable",
		not_suspendable(q), "state", client_shm_state_name(q->state), "priority",
		(json_int_t)q->priority, "percent", (json_int_t)q->percent, "cu_bits",
		(json_int_t)q->cu_bits, "hooked", (int)q->hooked, "cooperative",
		(int)q->cooperative, "ring_address", hex(q->ring_address), "ring_bytes",
		(json_int_t)q->ring_bytes, "rptr_address", hex(q->rptr_address), "wptr_address",
		hex(q->wptr_address), "hsa_queue", q->hsa_queue ? hex(q->hsa_queue) : json_null(),
		"cwsr_address", q->cwsr_address ? hex(q->cwsr_address) : json_null(), "cwsr_bytes",
		(json_int_t)q->cwsr_bytes);
}

json_t *status_queues(const struct client *client, bool dump, uint32_t *at, uint32_t *unreadable)
{
	uint32_t end = client_shm_queue_end(client->shm), few = *at + STATUS_PIECE;
	json_t *list = json_array();
	struct client_shm_queue queue;

	if (client->external && !dump) {
		external_queues_json(client->external, list);
		*at = CLIENT_SHM_QUEUES;
		return list;
	}
	for (; *at < end && *at < few; ++*at) {
		int error = client_shm_queue_read(client->shm, *at, &queue);

		if (!error)
			json_array_append_new(list, dump ? shm_queue_json(*at, &queue)
							 : queue_json(&queue));
		else if (error != -ENOENT)
			++*unreadable;
	}
	if (*at >= end)
		*at = CLIENT_SHM_QUEUES;
	return list;
}

struct queue_count {
	uint32_t gpu_id, queues, compute;
};

static void count_queue(struct queue_count counts[CLIENT_SHM_NODES], uint32_t gpu_id, bool compute)
{
	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++) {
		if (counts[i].queues && counts[i].gpu_id != gpu_id)
			continue;
		counts[i].gpu_id = gpu_id;
		counts[i].queues++;
		counts[i].compute += compute;
		return;
	}
}

json_t *status_queue_counts(const struct client *client)
{
	struct queue_count counts[CLIENT_SHM_NODES] = {0};
	uint32_t end = client->external ? 0 : client_shm_queue_end(client->shm), n = 0;
	const struct sysfs_queue *queues = NULL;
	struct client_shm_queue queue;
	json_t *list = json_array();

	if (client->external)
		queues = external_queues(client->external, &n);
	for (uint32_t i = 0; i < n; i++)
		count_queue(counts, queues[i].gpu_id, sysfs_is_compute(&queues[i]));
	for (uint32_t i = 0; i < end; i++)
		if (client_shm_queue_read(client->shm, i, &queue) == 0)
			count_queue(counts, queue.gpu_id,
				    queue.type == KFD_IOC_QUEUE_TYPE_COMPUTE ||
					    queue.type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && counts[i].queues; i++)
		json_array_append_new(list, json_pack("{sI sI sI}", "gpu_id",
						      (json_int_t)counts[i].gpu_id, "queues",
						      (json_int_t)counts[i].queues, "compute",
						      (json_int_t)counts[i].compute));
	return list;
}

static json_t *client_nodes_json(const struct client *client)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < CLIENT_SHM_NODES && client->seen[i].gpu_id; i++)
		json_array_append_new(list, json_pack("{sI sb}", "gpu_id",
						      (json_int_t)client->seen[i].gpu_id, "active",
						      (int)(client->seen[i].activity & 1)));
	return list;
}

static const char *role(int priority)
{
	if (priority == PRIORITY_UNSET)
		return "seen";
	return priority >= ROLE_ONLINE_FROM ? "online" : "offline";
}

static const char *runtime_name(uint32_t state)
{
	switch (state) {
	case CLIENT_SHM_RUNTIME_ENABLED:
		return "enabled";
	case CLIENT_SHM_RUNTIME_NEVER:
		return "never";
	default:
		return "unknown";
	}
}

/* Returns text from a client as ASCII, because it may not be valid UTF-8, which JSON requires. */
static json_t *plain(const char *text)
{
	char copy[PROTOCOL_GROUP_MAX];

	snprintf(copy, sizeof(copy), "%s", text);
	return json_string(plain_ascii(copy));
}

/* Returns the remaining time of a lease (a suspension by request) in us; -1: until a command
 * disconnects; null: no lease. */
static json_t *lease_json(const struct client *client, uint64_t now)
{
	uint64_t end = client->control.lease_ns;

	return json_number(client->control.leased, end <= now ? -1 : (int64_t)((end - now) / 1000));
}

static json_t *times_json(const struct core_view *view)
{
	json_t *times = json_object();

	for (unsigned i = 0; i < CORE_TIMES; i++)
		json_object_set_new(times, core_time_name(i),
				    json_integer((json_int_t)(view->time_ns[i] / 1000)));
	return times;
}

/* Returns the faults of the client's queues that the debug session of the daemon has reported. */
static json_t *exceptions_json(const struct client *client)
{
	uint64_t found[EXECUTOR_EXCEPTIONS];
	uint32_t n = client->executor && client->attached
			     ? executor_exceptions(client->executor, found)
			     : 0;
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list,
				      json_pack("{sI so}", "queue_id", (json_int_t)(found[i] >> 32),
						"names", exception_json((uint32_t)found[i])));
	return list;
}

static const char *const states[] = {"running", "suspending", "suspended", "resuming"};

json_t *status_client(const struct worker *worker, const struct client *client, uint64_t now)
{
	struct core_view view = {0};
	/* the rule of the configuration that set the attributes; empty: none */
	const char *rule =
		client->external ? external_rule(client->external) : client->attrs.verdict.rule;
	char name[16];
	bool fine;

	core_view_client(worker->core, client->id, now, &view);
	fine = view.capability == CORE_ABLE && view.exempt == CORE_EXEMPT_NOT &&
	       /* level.error 0: the client has level trap or the level that it requested */
	       !client->level.error;
	peer_name(client->peer.pid, name);
	return json_pack(
		"{sI so sI ss sb so ss sb so so ss? ss ss ss? ss ss sb sb sI sI sI sI so sI so so}",
		"pid", (json_int_t)client->peer.pid, "own_pid",
		json_number(client->peer.own_pid, client->peer.own_pid), "pid_namespace",
		(json_int_t)client->peer.pid_ns, "comm", name, "shim", (int)!client->external,
		"priority", json_number(client->priority != PRIORITY_UNSET, client->priority),
		"role", role(client->priority), "priority_override",
		(int)client->control.priority_set, "lease_us", lease_json(client, now), "group",
		plain(client->group), "rule", rule[0] ? rule : NULL, "level",
		client_present_level(client, &view), "reason", fine ? "" : client->reason.text,
		"reason_code", fine ? NULL : reason_name(client->reason.code), "runtime",
		runtime_name(client->runtime), "state", states[view.state], "active",
		(int)view.active, "observed", (int)view.observed, "suspends",
		(json_int_t)view.suspends, "resumes", (json_int_t)view.resumes, "failures",
		(json_int_t)view.failures, "suspended_us", (json_int_t)(view.suspended_ns / 1000),
		"time_us", times_json(&view), "shm_scans_deferred",
		(json_int_t)client->scan_limit.put_off, "nodes", client_nodes_json(client),
		"exceptions", exceptions_json(client));
}

/* Returns the brief form of a process, to which the caller appends "queue_counts". */
json_t *status_client_brief(const struct worker *worker, const struct client *client, uint64_t now)
{
	struct core_view view = {0};
	char name[16];

	core_view_client(worker->core, client->id, now, &view);
	peer_name(client->peer.pid, name);
	return json_pack("{sI ss sb so ss ss ss sb sI sI so}", "pid", (json_int_t)client->peer.pid,
			 "comm", name, "shim", (int)!client->external, "priority",
			 json_number(client->priority != PRIORITY_UNSET, client->priority), "role",
			 role(client->priority), "level", client_present_level(client, &view),
			 "state", states[view.state], "active", (int)view.active, "suspends",
			 (json_int_t)view.suspends, "suspended_us",
			 (json_int_t)(view.suspended_ns / 1000), "time_us", times_json(&view));
}

static json_t *share_json(struct core_policy policy)
{
	return json_number(policy_takes_share(policy.rule), policy.share_percent);
}

static json_t *nodes_json(const struct worker *worker, uint64_t now)
{
	const struct daemon_shm *daemon_shm = worker->nodes.daemon_shm;
	json_t *list = json_array();

	for (uint32_t i = 0; i < daemon_shm->node_count; i++) {
		const struct daemon_shm_node *node = &daemon_shm->nodes[i];
		struct core_policy policy = core_policy_of(worker->core, node->gpu_id);

		json_array_append_new(
			list,
			json_pack("{sI sI sb sI ss so}", "gpu_id", (json_int_t)node->gpu_id,
				  "work_us",
				  (json_int_t)(nodes_work_ns(&worker->nodes, node->gpu_id, now) /
					       1000),
				  "urgent", (int)node->urgent, "suspended",
				  (json_int_t)node->suspended, "policy", policy_name(policy.rule),
				  "share_percent", share_json(policy)));
	}
	return list;
}

static json_t *totals_json(const struct totals *t)
{
	return json_pack("{sI sI sI sI so so so so so}", "suspends", (json_int_t)t->suspends,
			 "resumes", (json_int_t)t->resumes, "failures", (json_int_t)t->failures,
			 "shm_scans", (json_int_t)t->scans, "detection_ns",
			 hist_to_json(&t->detection), "holdover_ns", hist_to_json(&t->holdover),
			 "suspend_ns", hist_to_json(&t->suspend), "resume_ns",
			 hist_to_json(&t->resume), "loop_ns", hist_to_json(&t->iteration));
}

static json_t *connections_json(const struct worker *worker)
{
	return json_pack("{sI sI sI sI}", "open", (json_int_t)worker->admission.users.taken, "room",
			 (json_int_t)worker->admission.users.slots, "refused",
			 (json_int_t)__atomic_load_n(worker->admission.refused, __ATOMIC_RELAXED),
			 "orphans", (json_int_t)worker->orphan_count);
}

static json_t *executors_json(void)
{
	uint32_t processes, stuck;

	executor_count(&processes, &stuck);
	return json_pack("{sI sI}", "processes", (json_int_t)processes, "stuck", (json_int_t)stuck);
}

static json_t *count_json(const uint64_t *at)
{
	return json_integer((json_int_t)__atomic_load_n(at, __ATOMIC_RELAXED));
}

json_t *status_head(const struct worker *worker, uint64_t now)
{
	struct core_policy policy = core_policy_of(worker->core, 0);

	return json_pack("{s{sI sI sI ss so sI so so ss so so} so so}", "daemon", "pid",
			 (json_int_t)getppid(), "worker_pid", (json_int_t)getpid(), "uptime_us",
			 (json_int_t)((now - worker->shared->started_ns) / 1000), "policy",
			 policy_name(policy.rule), "share_percent", share_json(policy),
			 "slow_suspend_us",
			 (json_int_t)(worker->config.core.slow_suspend_ns / 1000), "connections",
			 connections_json(worker), "executors", executors_json(), "version",
			 KFDSHIM_VERSION, "worker_restarts", count_json(&worker->shared->restarts),
			 "refused_calls", count_json(&worker->shared->refused_calls), "nodes",
			 nodes_json(worker, now), "totals", totals_json(&worker->totals));
}

/* ---- dump of shared memory ---- */

/* Returns the age of a time in us; null: the time is 0 (it has not happened); 0: the time is in the
 * future, which a client can write. */
static json_t *age(uint64_t then_ns, uint64_t now_ns)
{
	return json_number(then_ns, then_ns < now_ns ? (int64_t)((now_ns - then_ns) / 1000) : 0);
}

static json_t *shm_nodes_json(const struct client_shm *shm, uint64_t now_ns)
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

static json_t *shm_event_json(const struct client_shm_event *event, uint64_t now_ns)
{
	/* An event that concerns the whole process has gpu_id 0 and no queue. */
	bool of_queue = event->gpu_id != 0;

	return json_pack("{sI so sI ss sI so so so}", "number", (json_int_t)event->number, "age_us",
			 age(event->ns, now_ns), "monotonic_us", (json_int_t)(event->ns / 1000),
			 "kind", client_shm_event_name(event->kind), "value",
			 (json_int_t)event->value, "context", json_number(of_queue, event->context),
			 "queue_id", json_number(of_queue, event->queue_id), "gpu_id",
			 json_number(of_queue, event->gpu_id));
}

json_t *status_client_shm_events(const struct client_shm *shm, uint64_t *at, uint64_t newest,
				 uint64_t now_ns)
{
	uint64_t few = newest - *at > STATUS_PIECE ? *at + STATUS_PIECE : newest;
	json_t *list = json_array();
	struct client_shm_event event;

	while (*at < few)
		if (client_shm_event_read(shm, ++*at, &event) == 0)
			json_array_append_new(list, shm_event_json(&event, now_ns));
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

	return json_pack("{ss sI sb sb sb sb so sI sI sI sI sI sI so sI}", "runtime",
			 runtime_name(shm_word(&shm->runtime)), "runtime_errno",
			 (json_int_t)__atomic_load_n(&shm->runtime_errno, __ATOMIC_RELAXED),
			 "own_session",
			 (int)(shm_word(&shm->own_session) == CLIENT_SHM_OWN_SESSION), "by_updates",
			 (int)(shm_word(&shm->own_session) == CLIENT_SHM_OWN_UPDATES), "session",
			 (int)(shm_word(&shm->session) != 0), "suspended",
			 (int)(shm_word(&shm->suspended) != 0), "hold_cmd",
			 hold_cmd_json(shm_word(&shm->hold_cmd), shm_word(&shm->hold_cmd_done)),
			 "hold_cmd_errno",
			 (json_int_t)__atomic_load_n(&shm->hold_cmd_errno, __ATOMIC_RELAXED),
			 "hold_cmd_us", (json_int_t)shm_word(&shm->hold_cmd_us), "teardown_begin",
			 (json_int_t)shm_word(&shm->teardown_begin), "teardown_end",
			 (json_int_t)shm_word(&shm->teardown_end), "teardown_granted",
			 (json_int_t)shm_word(&shm->teardown_granted), "queue_generation",
			 (json_int_t)shm_word(&shm->queue_generation), "nodes",
			 shm_nodes_json(shm, now_ns), "events_number", (json_int_t)newest);
}
