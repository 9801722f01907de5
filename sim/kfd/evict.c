// SPDX-License-Identifier: MIT
/*
 * Evictions: the driver takes all queues of a process off a GPU, whatever their state, and the
 * debugger's flags are not touched by it (evict_process_queues_cpsch in
 * kfd_device_queue_manager.c). It counts them for each process and GPU, and a queue that is
 * created meanwhile is off from the start. The GPU resets of reset.c count, too.
 *
 * A memory fault evicts the process from the GPU where it happened, and nothing ever restores it
 * (kfd_set_dbg_ev_from_interrupt and kfd_dbg_send_exception_to_runtime in kfd_debug.c).
 */
#include "sim/kfd/files.h"

/* Evictions come from the driver's workers, which take no mutex of the process. */
static void bounce_for(struct process *process, uint32_t node, void (*unmapped)(struct bounce *))
{
	struct bounce *bounce = bounce_new(process, NULL, unmapped);

	if (!bounce) {
		say("no memory for an eviction: queues of pid %d go on", process->pid);
		return;
	}
	bounce->by_driver = true;
	bounce->nodes = 1ull << node;
	bounce_begin(bounce);
}

static void evict(struct process *process, uint32_t node, void (*evicted)(struct bounce *))
{
	process->evictions[node]++;
	bounce_for(process, node, evicted);
}

static void tell_fault(struct bounce *bounce)
{
	uint32_t node = (uint32_t)__builtin_ctzll(bounce->nodes);
	struct process *process = bounce->process;

	event_memory_fault(process, process->world->nodes[node].gpu_id, process->violation[node]);
}

void fault_passed_on(struct process *process, uint32_t node)
{
	struct world *world = process->world;

	for (uint32_t i = 0; i < world->nodes_n; i++)
		if (i != node && rule_broken(world, RULE_memory_fault_is_of_one_gpu))
			evict(process, i, NULL);
	if (rule_broken(world, RULE_memory_fault_evicts_the_process) || process->evictions[node]) {
		event_memory_fault(process, world->nodes[node].gpu_id, process->violation[node]);
		return;
	}
	evict(process, node, tell_fault);
	if (!process->lost[node])
		say("pid %d (%s): the driver has evicted its queues from GPU %u for good",
		    process->record->pid, process->record->comm, world->nodes[node].gpu_id);
	process->lost[node] = "evicted after a memory fault";
}
