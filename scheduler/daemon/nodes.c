// SPDX-License-Identifier: MIT
#include "scheduler/daemon/nodes.h"

#include "channel/protocol.h"
#include "kfd/topology.h"
#include "scheduler/core/sched.h"
#include "scheduler/daemon/log.h"

#define REREAD_NS 1000000000u

static void store(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

bool nodes_known(const struct nodes *nodes, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < nodes->daemon_shm->node_count; i++)
		if (nodes->daemon_shm->nodes[i].gpu_id == gpu_id)
			return true;
	return false;
}

/* Writes the nodes `ids` into daemon shared memory, as many as its version has room for. */
static void name_nodes(struct daemon_shm *daemon_shm, const uint32_t *ids, uint32_t n)
{
	uint32_t room = client_shm_nodes(daemon_shm->version);

	n = n < room ? n : room;
	for (uint32_t i = 0; i < n; i++)
		store(&daemon_shm->nodes[i].gpu_id, ids[i]);
	store(&daemon_shm->node_count, n);
}

static void report_overflow(size_t n)
{
	static bool reported;

	if (n > CLIENT_SHM_NODES && !reported)
		log_error("this machine has more than %u GPUs; GPUs that 'kfdsched status' does "
			  "not list are not scheduled",
			  CLIENT_SHM_NODES);
	reported |= n > CLIENT_SHM_NODES;
}

int nodes_open(struct nodes *nodes)
{
	nodes->daemon_shm_fd = daemon_shm_create(CLIENT_SHM_VERSION, &nodes->daemon_shm);
	return nodes->daemon_shm_fd < 0 ? nodes->daemon_shm_fd : 0;
}

void nodes_read(struct nodes *nodes, uint64_t now)
{
	uint32_t ids[CLIENT_SHM_NODES + 1];
	size_t n;

	if (nodes->read_ns && now < nodes->read_ns + REREAD_NS)
		return;
	nodes->read_ns = now;
	n = topology_gpu_ids(ids, CLIENT_SHM_NODES + 1);
	report_overflow(n);
	name_nodes(nodes->daemon_shm, ids, (uint32_t)n);
	if (nodes->older_shm)
		name_nodes(nodes->older_shm, ids, (uint32_t)n);
}

int nodes_daemon_shm(struct nodes *nodes, uint32_t version)
{
	const struct daemon_shm *daemon_shm = nodes->daemon_shm;
	uint32_t ids[CLIENT_SHM_NODES];

	if (protocol_client_shm(version) == CLIENT_SHM_VERSION)
		return nodes->daemon_shm_fd;
	if (nodes->older_shm)
		return nodes->older_shm_fd;
	nodes->older_shm_fd = daemon_shm_create(CLIENT_SHM_OLDEST, &nodes->older_shm);
	if (nodes->older_shm_fd < 0)
		return nodes->older_shm_fd;
	for (uint32_t i = 0; i < daemon_shm->node_count; i++)
		ids[i] = daemon_shm->nodes[i].gpu_id;
	name_nodes(nodes->older_shm, ids, daemon_shm->node_count);
	nodes->older_shm->heartbeat_ns = daemon_shm->heartbeat_ns;
	return nodes->older_shm_fd;
}

static struct node_work *work_on(struct nodes *nodes, uint32_t gpu_id)
{
	struct node_work *work = nodes->work;

	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++) {
		if (work[i].gpu_id == gpu_id)
			return &work[i];
		/* A client can write any gpu_id: one that the driver does not have gets no
		 * entry. */
		if (work[i].gpu_id == 0) {
			if (!nodes_known(nodes, gpu_id))
				return NULL;
			work[i].gpu_id = gpu_id;
			return &work[i];
		}
	}
	return NULL;
}

void nodes_work(struct nodes *nodes, uint32_t gpu_id, bool begins, uint64_t now)
{
	struct node_work *work = work_on(nodes, gpu_id);

	if (!work)
		return;
	if (begins && work->clients++ == 0)
		work->since_ns = now;
	if (!begins && work->clients && --work->clients == 0 && now > work->since_ns)
		work->ns += now - work->since_ns;
}

uint64_t nodes_work_ns(const struct nodes *nodes, uint32_t gpu_id, uint64_t now)
{
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && nodes->work[i].gpu_id; i++) {
		const struct node_work *work = &nodes->work[i];

		if (work->gpu_id == gpu_id)
			return work->ns +
			       (work->clients && now > work->since_ns ? now - work->since_ns : 0);
	}
	return 0;
}

void nodes_publish(struct nodes *nodes, const struct core *core)
{
	struct daemon_shm *daemon_shm = nodes->daemon_shm, *older = nodes->older_shm;

	for (uint32_t i = 0; i < daemon_shm->node_count; i++) {
		uint32_t suspended;
		bool urgent;

		core_view_node(core, daemon_shm->nodes[i].gpu_id, &urgent, &suspended);
		store(&daemon_shm->nodes[i].urgent, urgent);
		store(&daemon_shm->nodes[i].suspended, suspended);
		if (!older || i >= older->node_count)
			continue;
		store(&older->nodes[i].urgent, urgent);
		store(&older->nodes[i].suspended, suspended);
	}
}

void nodes_beat(struct nodes *nodes, uint64_t now)
{
	__atomic_store_n(&nodes->daemon_shm->heartbeat_ns, now, __ATOMIC_RELEASE);
	if (nodes->older_shm)
		__atomic_store_n(&nodes->older_shm->heartbeat_ns, now, __ATOMIC_RELEASE);
}

void nodes_set_asleep(struct nodes *nodes, bool asleep)
{
	if (nodes->older_shm)
		__atomic_store_n(&nodes->older_shm->asleep, asleep, __ATOMIC_SEQ_CST);
	__atomic_store_n(&nodes->daemon_shm->asleep, asleep, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
