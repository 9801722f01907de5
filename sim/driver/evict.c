// SPDX-License-Identifier: MIT
/*
 * Simulates evictions (evict_process_queues_cpsch in kfd_device_queue_manager.c). The driver unmaps
 * all queues of a process on a GPU, whether they are suspended or not, and leaves the debugger's
 * suspensions as they are. It counts evictions for each process and GPU, including those by a GPU
 * reset (gpu_reset.c). A queue that is created while the count is above 0 is not mapped.
 *
 * When memory is short, a worker evicts a process from all of its GPUs and another worker restores
 * it (evict_process_worker and restore_process_worker in kfd_process.c). Memory is never short
 * here; --set evict_at causes such an eviction. A memory fault evicts the process from the GPU
 * where it happened, and nothing ever restores it (kfd_set_dbg_ev_from_interrupt and
 * kfd_dbg_send_exception_to_runtime in kfd_debug.c).
 */
#include "common/clock.h"
#include "sim/driver/files.h"
#include "sim/driver/runlist_update.h"

#define RESTORE_NS 100000000u /* PROCESS_RESTORE_TIME_MS of the driver */

/* Starts the update of an eviction or restore, which a driver's worker makes without the mutex. */
static void update_for(struct process *process, uint64_t nodes,
		       void (*unmapped)(struct runlist_update *))
{
	struct runlist_update *update = runlist_update_new(process, NULL, unmapped);

	if (!update) {
		sim_log("out of memory for an eviction: queues of pid %d stay unchanged",
			process->pid);
		return;
	}
	update->by_driver = true;
	update->nodes = nodes;
	runlist_update_begin(update);
}

static void count_eviction(struct process *process, uint32_t node)
{
	if (!process->evictions[node]++)
		process->evicted_since_ns[node] = clock_ns();
}

static void evict(struct process *process, uint32_t node, void (*evicted)(struct runlist_update *))
{
	count_eviction(process, node);
	update_for(process, 1ull << node, evicted);
}

void evict_for_memory(struct process *process)
{
	uint64_t nodes = 0;

	/* The process is evicted already. In the driver a second worker then finds the eviction
	 * fence signalled and undoes its own eviction. */
	if (process->restore_due_ns)
		return;
	for (uint32_t i = 0; i < process->sim->nodes_n; i++) {
		if (!process->vm[i].file)
			continue;
		smi_queue_eviction(process, i, SMI_BY_TTM);
		count_eviction(process, i);
		nodes |= 1ull << i;
	}
	process->restore_due_ns = clock_ns() + RESTORE_NS;
	update_for(process, nodes, NULL);
}

/* Undoes one eviction of the process on the node. Returns true if no other eviction is in effect
 * there, so that the queues can run again. */
static bool restore_node(struct process *process, uint32_t node)
{
	struct queue *queue;

	smi_queue_restore(process, node, false);
	if (!process->evictions[node] || --process->evictions[node])
		return false;
	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->node == node)
		queue->reset = false;
	process->evicted_ns[node] += clock_ns() - process->evicted_since_ns[node];
	procfs_evicted(process, node);
	return true;
}

static void restore(struct process *process)
{
	uint64_t nodes = 0;

	process->restore_due_ns = 0;
	for (uint32_t i = 0; i < process->sim->nodes_n; i++)
		if (process->vm[i].file && restore_node(process, i))
			nodes |= 1ull << i;
	update_for(process, nodes, NULL);
}

void evictions_expire(struct sim *sim, uint64_t now_ns)
{
	struct process *process;

	TAILQ_FOREACH(process, &sim->processes, link)
	if (process->restore_due_ns && process->restore_due_ns <= now_ns)
		restore(process);
}

uint64_t evictions_due(const struct sim *sim)
{
	const struct process *process;
	uint64_t due = UINT64_MAX;

	TAILQ_FOREACH(process, &sim->processes, link)
	if (process->restore_due_ns && process->restore_due_ns < due)
		due = process->restore_due_ns;
	return due;
}

/* Signals the process's memory events, after its queues were evicted. */
static void notify_fault(struct runlist_update *update)
{
	uint32_t node = (uint32_t)__builtin_ctzll(update->nodes);
	struct process *process = update->process;

	event_memory_fault(process, process->sim->nodes[node].gpu_id, process->violation[node]);
}

void fault_passed_on(struct process *process, uint32_t node)
{
	struct sim *sim = process->sim;

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (i != node && !rule_holds(sim, RULE_memory_fault_is_of_one_gpu))
			evict(process, i, NULL);
	if (!rule_holds(sim, RULE_memory_fault_evicts_the_process) || process->evictions[node]) {
		event_memory_fault(process, sim->nodes[node].gpu_id, process->violation[node]);
		return;
	}
	evict(process, node, notify_fault);
	if (!process->lost[node])
		sim_log("pid %d (%s): the driver has evicted its queues from GPU %u permanently",
			process->record->pid, process->record->comm, sim->nodes[node].gpu_id);
	process->lost[node] = "evicted after a memory fault";
}
