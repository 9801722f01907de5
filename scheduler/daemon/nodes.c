// SPDX-License-Identifier: MIT
/* The board's nodes: what the driver has, and how urgent it is there. */
#include "scheduler/daemon/worker.h"
#include "scheduler/kfd/device.h"

#define REREAD_NS 1000000000u

static void store(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

bool nodes_known(const struct worker *worker, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < worker->board->node_count; i++)
		if (worker->board->nodes[i].gpu_id == gpu_id)
			return true;
	return false;
}

void nodes_read(struct worker *worker, uint64_t now)
{
	struct board *board = worker->board;
	uint32_t ids[LANE_NODES];
	size_t n;

	if (worker->nodes_read_ns && now < worker->nodes_read_ns + REREAD_NS)
		return;
	worker->nodes_read_ns = now;
	n = kfd_device_nodes(ids, LANE_NODES);
	for (size_t i = 0; i < n; i++)
		store(&board->nodes[i].gpu_id, ids[i]);
	store(&board->node_count, (uint32_t)n);
}

void nodes_publish(struct worker *worker)
{
	struct board *board = worker->board;

	for (uint32_t i = 0; i < board->node_count; i++) {
		uint32_t suspended;
		bool urgent;

		core_look_node(worker->core, board->nodes[i].gpu_id, &urgent, &suspended);
		store(&board->nodes[i].urgent, urgent);
		store(&board->nodes[i].suspended, suspended);
	}
}
