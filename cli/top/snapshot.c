// SPDX-License-Identifier: MIT
#include "cli/top/snapshot.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "cli/util/read_files.h"
#include "common/allocate.h"
#include "common/json_util.h"

struct top_node *top_state_node(struct top_state *state, uint32_t gpu_id)
{
	state->nodes = allocate_next(state->nodes, state->node_count, &state->node_room,
				     sizeof(*state->nodes));
	state->nodes[state->node_count] = (struct top_node){
		.gpu_id = gpu_id,
		.work_us = TOP_UNKNOWN,
		.compute_units = TOP_UNKNOWN,
		.occupied = TOP_UNKNOWN,
		.slots = TOP_UNKNOWN,
		.queues = TOP_UNKNOWN,
		.suspended = TOP_UNKNOWN,
		.urgent = TOP_UNKNOWN,
	};
	return &state->nodes[state->node_count++];
}

struct top_process *top_state_process(struct top_state *state, pid_t pid)
{
	state->processes = allocate_next(state->processes, state->process_count,
					 &state->process_room, sizeof(*state->processes));
	state->processes[state->process_count] = (struct top_process){
		.pid = pid,
		.shim = TOP_UNKNOWN,
		.active = TOP_UNKNOWN,
		.priority = TOP_UNKNOWN,
		.queues = TOP_UNKNOWN,
		.compute_queues = TOP_UNKNOWN,
		.mqds = TOP_UNKNOWN,
		.hqds = TOP_UNKNOWN,
		.hqds_per_queue = TOP_UNKNOWN,
		.vram_bytes = TOP_UNKNOWN,
		.suspends = TOP_UNKNOWN,
		.suspended_us = TOP_UNKNOWN,
	};
	return &state->processes[state->process_count++];
}

struct top_node *top_find_node(const struct top_state *state, uint32_t gpu_id)
{
	for (size_t i = 0; i < state->node_count; i++)
		if (state->nodes[i].gpu_id == gpu_id)
			return &state->nodes[i];
	return NULL;
}

const char *top_gpu_text(char text[static GPU_NAME_SHORT], const struct top_state *state,
			 uint32_t gpu_id)
{
	const struct top_node *node = top_find_node(state, gpu_id);

	return gpu_name_short(text, node && node->gpu.gpu_id ? &node->gpu : NULL, gpu_id);
}

struct top_process *top_find_process(const struct top_state *state, pid_t pid)
{
	for (size_t i = 0; i < state->process_count; i++)
		if (state->processes[i].pid == pid)
			return &state->processes[i];
	return NULL;
}

void top_state_clear(struct top_state *state)
{
	struct top_state empty = {
		.nodes = state->nodes,
		.node_room = state->node_room,
		.processes = state->processes,
		.process_room = state->process_room,
	};

	free(state->totals);
	*state = empty;
}

void top_state_free(struct top_state *state)
{
	free(state->totals);
	free(state->nodes);
	free(state->processes);
	*state = (struct top_state){0};
}

/* ---- the daemon's answer ---- */

/* Returns the count `key` of a JSON object; TOP_UNKNOWN if it is missing or out of range. */
static int32_t count(const json_t *object, const char *key)
{
	int64_t value = read_integer(object, key);

	return value >= 0 && value <= INT32_MAX ? (int32_t)value : TOP_UNKNOWN;
}

static int8_t yes(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_boolean(value) ? (int8_t)json_is_true(value) : TOP_UNKNOWN;
}

static void take_node(const json_t *json, struct top_state *state)
{
	int64_t gpu_id_or_none = read_integer(json, "gpu_id");
	uint32_t gpu_id = (uint32_t)gpu_id_or_none;
	struct top_node *node;

	if (gpu_id_or_none < 0)
		return;
	node = top_find_node(state, gpu_id);
	if (!node)
		node = top_state_node(state, gpu_id);
	node->urgent = yes(json, "urgent");
	node->suspended = count(json, "suspended");
	node->work_us = read_integer(json, "work_us");
	read_word(node->policy, sizeof(node->policy), json, "policy");
}

/* Adds `more` to the count *at. Ignores `more` if it is not known or out of range. */
static void add_to(int32_t *at, int64_t more)
{
	if (more > 0 && more < INT32_MAX / 2 && *at < INT32_MAX / 2)
		*at = (*at < 0 ? 0 : *at) + (int32_t)more;
}

/* Adds the process's queues to the counts of the process and of each node. */
static void take_queues(const json_t *json, struct top_state *state, struct top_process *process)
{
	const json_t *counts = json_object_get(json, "queue_counts"), *entry;
	struct top_node *node;
	size_t i;

	if (json_is_array(counts))
		process->queues = process->compute_queues = 0;
	json_array_foreach(counts, i, entry)
	{
		add_to(&process->queues, read_integer(entry, "queues"));
		add_to(&process->compute_queues, read_integer(entry, "compute"));
		node = top_find_node(state, (uint32_t)read_integer(entry, "gpu_id"));
		if (node)
			add_to(&node->queues, read_integer(entry, "compute"));
	}
}

static int take_process(const json_t *json, struct top_state *state)
{
	struct top_process *process;
	int64_t pid = read_integer(json, "pid");

	if (pid <= 0 || pid > INT_MAX)
		return -EPROTO;
	process = top_state_process(state, (pid_t)pid);
	process->by_daemon = true;
	process->shim = yes(json, "shim");
	process->active = yes(json, "active");
	process->priority = count(json, "priority");
	process->suspends = read_integer(json, "suspends");
	process->suspended_us = read_integer(json, "suspended_us");
	read_word(process->level, sizeof(process->level), json, "level");
	read_word(process->role, sizeof(process->role), json, "role");
	read_word(process->state, sizeof(process->state), json, "state");
	read_word(process->command, sizeof(process->command), json, "comm");
	take_queues(json, state, process);
	return 0;
}

static int take_totals(const json_t *json, struct top_state *state)
{
	int64_t suspends = read_integer(json, "suspends"), resumes = read_integer(json, "resumes");
	int64_t failures = read_integer(json, "failures");

	if (suspends < 0 || resumes < 0 || failures < 0)
		return -EPROTO;
	state->totals = allocate(1, sizeof(*state->totals));
	state->totals->suspends = (uint64_t)suspends;
	state->totals->resumes = (uint64_t)resumes;
	state->totals->failures = (uint64_t)failures;
	if (hist_from_json(json_object_get(json, "suspend_ns"), &state->totals->suspend) ||
	    hist_from_json(json_object_get(json, "detection_ns"), &state->totals->detection))
		return -EPROTO;
	return 0;
}

int top_state_from_daemon(const json_t *status, struct top_state *state)
{
	const json_t *daemon = json_object_get(status, "daemon");
	const json_t *nodes = json_object_get(status, "nodes"), *entry;
	const json_t *processes = json_object_get(status, "processes");
	int rc = 0;
	size_t i;

	if (!json_is_object(daemon) || !json_is_array(nodes) || !json_is_array(processes))
		return -EPROTO;
	state->by_daemon = true;
	state->daemon_pid = count(daemon, "pid");
	state->worker_pid = count(daemon, "worker_pid");
	read_word(state->policy, sizeof(state->policy), daemon, "policy");
	json_array_foreach(nodes, i, entry) take_node(entry, state);
	json_array_foreach(processes, i, entry)
	{
		if (!rc)
			rc = take_process(entry, state);
	}
	return rc ? rc : take_totals(json_object_get(status, "totals"), state);
}
