// SPDX-License-Identifier: MIT
/*
 * Simulates scheduling firmware that does not answer, and the GPU reset that follows
 * (kfd_device_queue_manager.c, kfd_device.c).
 *
 * If a preemption is not acknowledged within queue_preemption_timeout_ms, the driver resets the
 * whole GPU. The call that waited fails with ETIME; calls that waited behind it and calls during
 * the reset fail with EIO. Before it resets one GPU the driver evicts every process from all GPUs,
 * and it never restores them: only processes that come later run again. Until the driver gives up,
 * the queues that were mapped continue. Not simulated: what a reset does to the contents of VRAM,
 * and the other GPUs of a hive, which are reset together.
 *
 * From Linux 6.12 on the firmware gives up on a compute queue that it cannot preempt, and unmaps
 * the others. The driver then resets only that queue, and the call that waited succeeds
 * (unmap_queues_cpsch, reset_hung_queues and set_queue_as_reset in kfd_device_queue_manager.c). The
 * process of the queue gets a HW-exception event, and its UPDATE_QUEUE fails from then on. A RESUME
 * of the queue, or the restore of an evicted process, maps it again; it is assumed that the queue
 * then does nothing.
 */
#include <errno.h>

#include "common/clock.h"
#include "sim/driver/files.h"
#include "sim/driver/runlist_update.h"

static uint32_t index_of(const struct node *node)
{
	return (uint32_t)(node - node->sim->nodes);
}

void firmware_hang(struct sim *sim, uint32_t node)
{
	sim->nodes[node].hung = true;
}

/* Returns true if this update is one that the firmware never answers (--set preempt_fails_at, or
 * preempt_us above the driver's time-out). */
static bool fails_now(const struct node *node)
{
	const struct profile *switches = &node->sim->config.node;
	double slow_ns = (double)us_ns(switches->preempt_us) / node->sim->config.time_scale;

	if (switches->preempt_stuck)
		return false;
	return node->updates == switches->preempt_fails_at ||
	       (slow_ns > switches->queue_preemption_timeout_ms * 1e6 &&
		gpu_live_wave_slots(node->gpu));
}

bool firmware_responds(struct node *node, struct runlist_update *update)
{
	const struct sim *sim = node->sim;

	if (node->resetting) {
		runlist_update_failed(update, node, -EIO);
		return false;
	}
	node->hung = node->hung || fails_now(node);
	/* Without active queues there is nothing to unmap, and no call waits. */
	if (!node->hung || !node->active_queues)
		return true;
	if (TAILQ_EMPTY(&node->stuck))
		node->firmware_due_ns =
			clock_ns() + sim->config.node.queue_preemption_timeout_ms * 1000000ull;
	TAILQ_INSERT_TAIL(&node->stuck, update, link);
	return false;
}

/* Returns the GPU model's number of the compute queue with the most wave slots in use; -1 if no
 * compute queue uses any. */
static int busiest(const struct node *node)
{
	uint64_t most = 0;
	int found = -1;

	for (unsigned i = 0; i < node->n_by_gpu_queue; i++) {
		uint64_t wave_slots =
			node->by_gpu_queue[i] ? gpu_queue_wave_slots(node->gpu, i) : 0;

		if (wave_slots > most && is_compute_type(node->by_gpu_queue[i]->type)) {
			most = wave_slots;
			found = (int)i;
		}
	}
	return found;
}

int firmware_stuck_queue(struct node *node)
{
	const struct profile *switches = &node->sim->config.node;
	uint64_t at = switches->preempt_fails_at;
	int queue;

	if (!switches->preempt_stuck || (at ? node->updates != at : node->stuck_yet))
		return -1;
	queue = busiest(node);
	node->stuck_yet = queue >= 0;
	return queue;
}

void firmware_reset_queue(struct node *node, int gpu_queue)
{
	struct queue *queue = node->by_gpu_queue[gpu_queue];
	uint64_t mask = 1ull << index_of(node);
	struct process *process;

	if (!queue)
		return;
	gpu_queue_reset(node->gpu, (uint32_t)gpu_queue);
	queue_halt(queue, "reset by the driver, because it was not preempted");
	queue->reset = true;
	node->active_queues -= queue->map_wanted;
	queue->map_wanted = false;
	queue->process->reset_nodes |= mask;
	hqd_update(queue->process, index_of(node));
	TAILQ_FOREACH(process, &node->sim->processes, link)
	if (process->reset_nodes & mask)
		event_hw_exception(process, node->gpu_id);
}

/* Unmaps the evicted queues in the GPU model. No call waits for this update. */
static void take_all_off(struct node *node)
{
	struct gpu_change changes[64];
	unsigned n = 0;

	for (unsigned i = 0; i < node->n_by_gpu_queue; i++) {
		struct queue *queue = node->by_gpu_queue[i];

		if (!queue || !queue->map_wanted || queue_active(queue))
			continue;
		queue->map_wanted = false;
		node->active_queues--;
		changes[n++] = (struct gpu_change){.queue = i, .map = false};
		if (n < 64)
			continue;
		if (gpu_update_runlist(node->gpu, 0, changes, n))
			sim_log("out of memory for a GPU reset: its queues continue");
		n = 0;
	}
	if (n && gpu_update_runlist(node->gpu, 0, changes, n))
		sim_log("out of memory for a GPU reset: its queues continue");
}

static bool has_queue_on(const struct process *process, uint32_t node)
{
	const struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->node == node)
		return true;
	return false;
}

/* Evicts all processes from all GPUs permanently. @failed: node whose GPU is reset. */
static void evict_all(struct sim *sim, uint32_t failed)
{
	struct process *process;

	TAILQ_FOREACH(process, &sim->processes, link)
	{
		if (has_queue_on(process, failed))
			process->reset_nodes |= 1ull << failed;
		for (uint32_t i = 0; i < sim->nodes_n; i++) {
			/* never restored, so its time is not added to the sysfs file evicted_ms */
			process->evictions[i]++;
			process->lost[i] = "evicted for a GPU reset";
			if (process->vm[i].file)
				smi_queue_eviction(process, i, SMI_BY_SUSPEND);
		}
	}
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		take_all_off(&sim->nodes[i]);
		TAILQ_FOREACH(process, &sim->processes, link)
		hqd_update(process, i);
	}
}

/* Resets a GPU whose firmware has not answered in time, and fails the updates that wait for it. */
static void give_up(struct node *node)
{
	struct sim *sim = node->sim;
	struct runlist_update_list stuck = TAILQ_HEAD_INITIALIZER(stuck);
	struct process *process;
	struct runlist_update *update;
	int error = -ETIME;

	sim_log("simulated GPU %u: the firmware did not preempt its queues in time; the GPU is reset",
		node->gpu_id);
	node->resetting = true;
	node->firmware_due_ns = clock_ns() + sim->config.node.gpu_reset_ms * 1000000ull;
	smi_gpu_reset(sim, index_of(node), false, "HWS hang");
	evict_all(sim, index_of(node));
	TAILQ_FOREACH(process, &sim->processes, link)
	event_hw_exception(process, node->gpu_id);
	TAILQ_CONCAT(&stuck, &node->stuck, link);
	while ((update = TAILQ_FIRST(&stuck))) {
		TAILQ_REMOVE(&stuck, update, link);
		runlist_update_failed(update, node, error);
		error = -EIO;
	}
}

static void reset_over(struct node *node)
{
	node->resetting = node->hung = node->all_off = false;
	node->firmware_due_ns = 0;
	smi_gpu_reset(node->sim, index_of(node), true, "");
}

void firmware_expire(struct sim *sim, uint64_t now_ns)
{
	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		struct node *node = &sim->nodes[i];

		if (!node->firmware_due_ns || now_ns < node->firmware_due_ns)
			continue;
		if (node->resetting)
			reset_over(node);
		else
			give_up(node);
	}
}

uint64_t firmware_due(const struct sim *sim)
{
	uint64_t due = UINT64_MAX;

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (sim->nodes[i].firmware_due_ns && sim->nodes[i].firmware_due_ns < due)
			due = sim->nodes[i].firmware_due_ns;
	return due;
}

void firmware_forget(struct node *node)
{
	struct runlist_update *update;

	node->resetting = true; /* updates that begin now fail at once */
	while ((update = TAILQ_FIRST(&node->stuck))) {
		TAILQ_REMOVE(&node->stuck, update, link);
		runlist_update_failed(update, node, -EIO);
	}
}

/* ---- evictions ----
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
