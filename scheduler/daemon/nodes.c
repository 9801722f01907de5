// SPDX-License-Identifier: MIT
/* The nodes in struct daemon_shm: which nodes the driver has, and the core's state of each. */
#include "kfd/device.h"
#include "scheduler/daemon/log.h"
#include "scheduler/daemon/worker.h"

#define REREAD_NS 1000000000u

static void store(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

bool nodes_known(const struct worker *worker, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < worker->daemon_shm->node_count; i++)
		if (worker->daemon_shm->nodes[i].gpu_id == gpu_id)
			return true;
	return false;
}

/* Writes as many nodes as the page has room for. */
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

void nodes_read(struct worker *worker, uint64_t now)
{
	uint32_t ids[CLIENT_SHM_NODES + 1];
	size_t n;

	if (worker->nodes_read_ns && now < worker->nodes_read_ns + REREAD_NS)
		return;
	worker->nodes_read_ns = now;
	n = kfd_device_nodes(ids, CLIENT_SHM_NODES + 1);
	report_overflow(n);
	name_nodes(worker->daemon_shm, ids, (uint32_t)n);
	if (worker->older_shm)
		name_nodes(worker->older_shm, ids, (uint32_t)n);
}

int nodes_daemon_shm(struct worker *worker, uint32_t version)
{
	const struct daemon_shm *daemon_shm = worker->daemon_shm;
	uint32_t ids[CLIENT_SHM_NODES];

	if (protocol_client_shm(version) == CLIENT_SHM_VERSION)
		return worker->daemon_shm_fd;
	if (worker->older_shm)
		return worker->older_shm_fd;
	worker->older_shm_fd = daemon_shm_create(CLIENT_SHM_OLDEST, &worker->older_shm);
	if (worker->older_shm_fd < 0)
		return worker->older_shm_fd;
	for (uint32_t i = 0; i < daemon_shm->node_count; i++)
		ids[i] = daemon_shm->nodes[i].gpu_id;
	name_nodes(worker->older_shm, ids, daemon_shm->node_count);
	worker->older_shm->heartbeat_ns = daemon_shm->heartbeat_ns;
	return worker->older_shm_fd;
}

static struct node_work *work_on(struct worker *worker, uint32_t gpu_id)
{
	struct node_work *work = worker->work;

	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++) {
		if (work[i].gpu_id == gpu_id)
			return &work[i];
		/* Shared memory of a client can contain any number: nodes that the driver does
		 * not have get no entry. */
		if (work[i].gpu_id == 0) {
			if (!nodes_known(worker, gpu_id))
				return NULL;
			work[i].gpu_id = gpu_id;
			return &work[i];
		}
	}
	return NULL;
}

void nodes_work(struct worker *worker, uint32_t gpu_id, bool begins, uint64_t now)
{
	struct node_work *work = work_on(worker, gpu_id);

	if (!work)
		return;
	if (begins && work->clients++ == 0)
		work->since_ns = now;
	if (!begins && work->clients && --work->clients == 0 && now > work->since_ns)
		work->ns += now - work->since_ns;
}

uint64_t nodes_work_ns(const struct worker *worker, uint32_t gpu_id, uint64_t now)
{
	for (uint32_t i = 0; i < CLIENT_SHM_NODES && worker->work[i].gpu_id; i++) {
		const struct node_work *work = &worker->work[i];

		if (work->gpu_id == gpu_id)
			return work->ns +
			       (work->clients && now > work->since_ns ? now - work->since_ns : 0);
	}
	return 0;
}

void nodes_publish(struct worker *worker)
{
	struct daemon_shm *daemon_shm = worker->daemon_shm, *older = worker->older_shm;

	for (uint32_t i = 0; i < daemon_shm->node_count; i++) {
		uint32_t suspended;
		bool urgent;

		core_view_node(worker->core, daemon_shm->nodes[i].gpu_id, &urgent, &suspended);
		store(&daemon_shm->nodes[i].urgent, urgent);
		store(&daemon_shm->nodes[i].suspended, suspended);
		if (!older || i >= older->node_count)
			continue;
		store(&older->nodes[i].urgent, urgent);
		store(&older->nodes[i].suspended, suspended);
	}
}
