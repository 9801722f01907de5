// SPDX-License-Identifier: MIT
#include "scheduler/daemon/metrics/metrics.h"

#include <string.h>

#include "scheduler/daemon/metrics/metrics_http.h"

#define PICTURE_NS 1000000000u /* between two snapshots */

/* Returns the counters of a node, or NULL if the driver has no such node (a client can write any
 * number) or if there is no room. */
static struct metrics_node *node_of(struct worker *worker, uint32_t gpu_id)
{
	struct metrics_node *nodes = worker->shared->metrics.nodes;

	if (!nodes_known(&worker->nodes, gpu_id))
		return NULL;
	for (uint32_t i = 0; i < METRICS_NODES; i++) {
		if (nodes[i].gpu_id == gpu_id)
			return &nodes[i];
		if (nodes[i].gpu_id == 0) {
			nodes[i].gpu_id = gpu_id;
			return &nodes[i];
		}
	}
	return NULL;
}

/* Returns the counters of the client's node `i`. The index of a node rarely changes, so the last
 * index is tried first. */
static struct metrics_node *nth_of(struct worker *worker, struct client *client, uint32_t i)
{
	struct metrics_node *nodes = worker->shared->metrics.nodes;
	struct metrics_node *node = &nodes[client->seen[i].metrics_at];

	if (node->gpu_id != client->seen[i].gpu_id) {
		node = node_of(worker, client->seen[i].gpu_id);
		client->seen[i].metrics_at = node ? (uint32_t)(node - nodes) : 0;
	}
	return node;
}

/* Lists the counters that an event of this client concerns: the daemon's, its own, and those of
 * its nodes. Returns their number. */
static uint32_t concerned(struct worker *worker, struct client *client,
			  struct metrics_values *out[CLIENT_SHM_NODES + 2])
{
	uint32_t n = 0;

	out[n++] = &worker->shared->metrics.all;
	out[n++] = &client->counts;
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && client->seen[i].gpu_id; i++) {
		struct metrics_node *node = nth_of(worker, client, i);

		if (node)
			out[n++] = &node->values;
	}
	return n;
}

/* Returns by how much a time has increased; 0 if `now` was earlier than at the last call. */
static uint64_t increase(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

/* Adds the times that the core has counted for the client since the last call. */
static void settle_times(struct worker *worker, struct client *client, uint64_t now)
{
	struct metrics_values *values[CLIENT_SHM_NODES + 2];
	uint64_t suspended_ns, time_ns[CORE_TIMES];
	struct core_view view;
	uint32_t n;

	if (!core_view_client(worker->core, client->id, now, &view))
		return;
	suspended_ns = increase(client->counts.suspended_ns, view.suspended_ns);
	for (unsigned t = 0; t < CORE_TIMES; t++)
		time_ns[t] = increase(client->counts.time_ns[t], view.time_ns[t]);
	n = concerned(worker, client, values);
	for (uint32_t i = 0; i < n; i++) {
		values[i]->suspended_ns += suspended_ns;
		for (unsigned t = 0; t < CORE_TIMES; t++)
			values[i]->time_ns[t] += time_ns[t];
	}
}

void metrics_settle_work(struct worker *worker, struct client *client, uint64_t now)
{
	uint64_t passed = 0;

	if (now > client->settled_ns) {
		passed = client->settled_ns ? now - client->settled_ns : 0;
		client->settled_ns = now;
	}
	for (uint32_t i = 0; passed && i < CLIENT_SHM_NODES && client->seen[i].gpu_id; i++) {
		struct metrics_node *node;

		if (!(client->seen[i].activity & 1))
			continue;
		client->seen[i].worked_ns += passed;
		node = nth_of(worker, client, i);
		if (node)
			node->active_ns += passed;
	}
}

void metrics_settle(struct worker *worker, struct client *client, uint64_t now)
{
	metrics_settle_work(worker, client, now);
	settle_times(worker, client, now);
}

void metrics_acted(struct worker *worker, struct client *client, bool suspend, bool failed)
{
	struct metrics_values *values[CLIENT_SHM_NODES + 2];
	uint32_t n = concerned(worker, client, values);

	for (uint32_t i = 0; i < n; i++) {
		if (failed)
			values[i]->failures++;
		else if (suspend)
			values[i]->suspends++;
		else
			values[i]->resumes++;
	}
}

void metrics_latency(struct worker *worker, struct client *client, enum metrics_latency latency,
		     uint64_t ns)
{
	struct metrics_values *values[CLIENT_SHM_NODES + 2];
	uint32_t n = concerned(worker, client, values);

	for (uint32_t i = 0; i < n; i++)
		metrics_histogram_add(&values[i]->latency[latency], ns);
}

static void picture_of_client(struct worker *worker, const struct client *client,
			      struct metrics_client *out, uint64_t now)
{
	struct core_view view = {0};

	core_view_client(worker->core, client->id, now, &view);
	*out = (struct metrics_client){
		.pid = client->peer.pid,
		.priority = client->priority,
		.suspended = view.state == CORE_SUSPENDED,
		.values = client->counts,
	};
	memcpy(out->comm, client->name, sizeof(out->comm));
	snprintf(out->level, sizeof(out->level), "%s", client_present_level(client, &view));
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && client->seen[i].gpu_id; i++) {
		if (!nodes_known(&worker->nodes, client->seen[i].gpu_id))
			continue;
		out->nodes[out->node_count].gpu_id = client->seen[i].gpu_id;
		out->nodes[out->node_count].active = client->seen[i].activity & 1;
		out->nodes[out->node_count].active_ns = client->seen[i].worked_ns;
		out->nodes[out->node_count++].vram_bytes = __atomic_load_n(
			&client_shm_node(client->shm, i)->vram_bytes, __ATOMIC_RELAXED);
	}
}

static void picture_of_nodes(struct worker *worker, struct metrics_snapshot *out)
{
	const struct daemon_shm *daemon_shm = worker->nodes.daemon_shm;

	for (uint32_t i = 0; i < daemon_shm->node_count; i++)
		/* so that idle nodes are in the snapshot, too */
		node_of(worker, daemon_shm->nodes[i].gpu_id);
	out->node_count = 0;
	for (uint32_t i = 0; i < METRICS_NODES; i++) {
		struct metrics_node *node = &out->nodes[out->node_count];

		if (worker->shared->metrics.nodes[i].gpu_id == 0)
			break;
		*node = worker->shared->metrics.nodes[i];
		core_view_node(worker->core, node->gpu_id, &node->urgent, &node->suspended);
		out->node_count++;
	}
}

void metrics_publish(struct worker *worker, uint64_t now)
{
	static uint64_t due_ns; /* next snapshot */
	struct metrics_snapshot *out;
	struct client *client;

	if (now < due_ns || !(out = metrics_share_room()))
		return;
	due_ns = now + PICTURE_NS;
	out->uptime_ns = now - worker->shared->started_ns;
	out->worker_restarts = __atomic_load_n(&worker->shared->restarts, __ATOMIC_RELAXED);
	out->refused_calls = __atomic_load_n(&worker->shared->refused_calls, __ATOMIC_RELAXED);
	out->log_dropped = __atomic_load_n(&worker->shared->log.dropped, __ATOMIC_RELAXED);
	out->log_left_out = __atomic_load_n(&worker->shared->log.left_out, __ATOMIC_RELAXED);
	out->clients = out->listed = 0;
	/* List clients in slot order: slots do not change, so a listed client stays listed. */
	for (uint32_t i = 0; (client = worker_next(worker, CLIENT_SERVED, &i));) {
		metrics_settle(worker, client, now);
		out->clients++;
		if (out->listed < METRICS_LISTED)
			picture_of_client(worker, client, &out->list[out->listed++], now);
	}
	out->all = worker->shared->metrics.all;
	picture_of_nodes(worker, out);
	metrics_share_publish();
}
