// SPDX-License-Identifier: MIT
/*
 * Implements runlist updates. With the scheduling firmware every change of a queue unmaps all
 * queues of the node and maps a new list. The ioctl returns when the old list is unmapped, so its
 * answer waits for that. Until then the process's mutex is held, as in the kernel.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/driver/files.h"
#include "sim/driver/runlist_update.h"

/* Returns true if the queue must not run because its exception QUEUE_NEW is pending in a session
 * that has enabled this exception (--set new_queue_waits). */
static bool held_as_new(const struct queue *queue)
{
	const uint64_t new_mask = kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
	const struct process *process = queue->process;

	return process->sim->config.node.new_queue_waits && process->session &&
	       process->exceptions_enabled & queue->exceptions & new_mask;
}

bool queue_active(const struct queue *queue)
{
	const struct process *process = queue->process;
	const struct sim *sim = process->sim;

	if (queue->suspended && rule_holds(sim, RULE_suspended_queue_stands_still))
		return false;
	return queue->ring && queue->ring_bytes &&
	       (queue->percent || !rule_holds(sim, RULE_resume_maps_only_if_percent_permits)) &&
	       !process->evictions[queue->node] && !queue->reset && !queue->removed &&
	       !queue->stalled && !process->dead && !held_as_new(queue);
}

uint64_t nodes_active(const struct sim *sim)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (sim->nodes[i].active_queues)
			mask |= 1ull << i;
	return mask;
}

struct runlist_update *runlist_update_new(struct process *process, struct call *call,
					  void (*unmapped)(struct runlist_update *))
{
	struct runlist_update *update = calloc(1, sizeof *update);

	if (!update)
		return NULL;
	update->sim = process->sim;
	update->process = process;
	update->call = call;
	update->unmapped = unmapped;
	update->grace = KFDABI_GRACE_DEFAULT;
	update->stuck = -1;
	return update;
}

static void runlist_update_continue(struct runlist_update *update);

static void runlist_update_free(struct runlist_update *update)
{
	if (update->evicts && !update->process->dead)
		evict_for_memory(update->process);
	process_unref(update->process);
	free(update->ids);
	free(update);
}

/* Ends an update: calls unmapped(), unlocks the process, calls released() and answers the call, in
 * this order. If the update has to be repeated (`again`), starts it again on the first node
 * instead. */
static void runlist_update_end(struct runlist_update *update)
{
	struct process *process = update->process;

	if (update->again) {
		update->again--;
		update->next_node = 0;
		runlist_update_continue(update);
		return;
	}
	if (update->by_driver) {
		if (update->unmapped && !process->dead)
			update->unmapped(update);
		runlist_update_free(update);
		return;
	}
	process_ref(process);
	if (update->unmapped)
		update->unmapped(update);
	/* process_unlock() executes the calls that wait for the lock. If a signal has interrupted
	 * the caller, its repeated call may be among them, and gets the stored answer of the
	 * interrupted one. So store that answer first. */
	if (update->call && !call_alive(update->call)) {
		call_reply(update->call, update->result);
		update->call = NULL;
	}
	process_unlock(process);
	if (update->released)
		update->released(update);
	if (update->call)
		call_reply(update->call, update->result);
	runlist_update_free(update);
}

/* Returns the time to unmap all queues (model time). If waves run, the firmware waits for the grace
 * period before it saves them, so that waves can end in this time. */
static uint64_t unmap_time(const struct runlist_update *update, const struct node *node)
{
	const struct sim_config *config = &update->sim->config;
	uint64_t tick_ns = 1024000u / config->node.max_engine_clk_fcompute;
	uint64_t ns = config->gpu.unmap_ns, usual = config->node.grace_default * tick_ns;

	/* Without a list on the GPU there is nothing to unmap (unmap_queues_cpsch). */
	if (!node->active_queues || node->all_off)
		return 0;
	if (!gpu_live_wave_slots(node->gpu))
		return ns;
	if (update->stuck >= 0)
		ns += (uint64_t)(config->node.unmap_latency_ms * 1e6 * config->time_scale);
	ns += us_ns(config->node.preempt_us);
	if (update->grace == KFDABI_GRACE_DEFAULT)
		return ns;
	return ns - (usual < ns ? usual : ns) + update->grace * tick_ns;
}

/* Returns the time to map the new list (model time); 0 if it is empty (map_queues_cpsch). */
static uint64_t map_time(const struct runlist_update *update, const struct node *node)
{
	for (unsigned i = 0; i < node->n_by_gpu_queue && !update->unmap_only; i++) {
		const struct queue *queue = node->by_gpu_queue[i];

		if (queue &&
		    (queue->process == update->process ? queue_active(queue) : queue->map_wanted))
			return update->sim->config.gpu.map_ns;
	}
	return 0;
}

/* Returns what this update does with a queue in the GPU model. 1: map, 0: unmap, -1: nothing. */
static int change_of(const struct runlist_update *update, const struct queue *queue)
{
	const struct node *node = &update->sim->nodes[queue->node];
	bool wanted = queue->map_wanted;

	if (update->unmap_only)
		return wanted ? 0 : -1;
	if (queue->process == update->process && wanted != queue_active(queue))
		return !wanted;
	return node->all_off && wanted ? 1 : -1;
}

/* Updates map_wanted of the process's queues on the node, and node->active_queues. */
static void want(struct runlist_update *update, struct node *node)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &update->process->queues, link)
	{
		bool active = queue_active(queue);

		if (&update->sim->nodes[queue->node] != node || queue->map_wanted == active)
			continue;
		queue->map_wanted = active;
		node->active_queues += active ? 1u : -1u;
	}
}

/* Passes the changes of one node to the GPU model, and records the new runlist. Returns 0 or a
 * negative errno. */
static int query_node(struct runlist_update *update, struct node *node)
{
	struct gpu_change *changes = calloc(node->n_by_gpu_queue + 1, sizeof *changes);
	size_t n = 0;
	int r;

	if (!changes)
		return -ENOMEM;
	for (unsigned i = 0; i < node->n_by_gpu_queue; i++) {
		int map = node->by_gpu_queue[i] ? change_of(update, node->by_gpu_queue[i]) : -1;

		if (map < 0)
			continue;
		changes[n].queue = i;
		changes[n].suspend = node->by_gpu_queue[i]->suspended;
		changes[n++].map = map;
	}
	r = gpu_update_runlist_within(node->gpu, (uint64_t)(uintptr_t)update, changes, n,
				      unmap_time(update, node), map_time(update, node));
	free(changes);
	if (r)
		return r;
	want(update, node);
	node->all_off = update->unmap_only;
	return 0;
}

/* Continues on the next node. The nodes are updated one after another, as the driver visits a
 * process's devices. */
static void runlist_update_continue(struct runlist_update *update)
{
	struct sim *sim = update->sim;

	while (update->next_node < sim->nodes_n) {
		struct node *node = &sim->nodes[update->next_node++];

		if (!(update->nodes >> (node - sim->nodes) & 1))
			continue;
		node->updates++;
		update->evicts |= !update->by_driver && node->updates == sim->config.node.evict_at;
		if (!firmware_responds(node, update))
			return;
		update->stuck = firmware_stuck_queue(node);
		if (!query_node(update, node))
			return;
		sim_log("out of memory for a runlist update: the simulated GPU is no longer reliable");
		update->result = -ENOMEM;
	}
	runlist_update_end(update);
}

void runlist_update_begin(struct runlist_update *update)
{
	if (update->by_driver)
		process_ref(update->process);
	else
		process_lock(update->process);
	runlist_update_continue(update);
}

void runlist_update_failed(struct runlist_update *update, const struct node *node, int error)
{
	update->failed |= 1ull << (node - update->sim->nodes);
	if (!update->error)
		update->error = error;
	runlist_update_continue(update);
}

void runlist_update_collected(struct process *process)
{
	struct queue *queue;
	struct runlist_update *update;
	uint64_t nodes = 0;

	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->map_wanted != queue_active(queue))
		nodes |= 1ull << queue->node;
	if (!nodes || process->locked || !process->sim->config.node.new_queue_waits)
		return;
	update = runlist_update_new(process, NULL, NULL);
	if (!update) {
		sim_log("out of memory for a runlist update: queues of pid %d stay unchanged",
			process->pid);
		return;
	}
	update->nodes = nodes;
	runlist_update_begin(update);
}

/* Stores how many wave slots each queue held at the unmap, for the sizes in its save area. */
static void note_saved(struct node *node)
{
	for (unsigned i = 0; i < node->n_by_gpu_queue; i++)
		if (node->by_gpu_queue[i])
			node->by_gpu_queue[i]->saved_wave_slots =
				gpu_queue_saved_wave_slots(node->gpu, i);
}

void runlist_update_event(struct node *node, const struct gpu_event *event)
{
	struct sim *sim = node->sim;
	struct runlist_update *update = (void *)(uintptr_t)event->tag;

	if (event->type == GPU_EVENT_MAPPED) {
		/* Do not use event->tag here, because the update may be over and freed. */
		if (event->restore_ns)
			hist_add(&sim->totals.restore, event->restore_ns);
		if (rule_holds(sim, RULE_resume_rereads_the_write_pointer))
			engine_reread_wptr(node);
		return;
	}
	procfs_touch(sim);
	debugfs_changed(sim);
	note_saved(node);
	if (!update)
		return; /* started by take_all_off() in gpu_reset.c */
	if (update->stuck >= 0)
		firmware_reset_queue(node, update->stuck);
	update->stuck = -1;
	hqd_update(update->process, (uint32_t)(node - sim->nodes));
	sim->totals.updates += event->unmap_ns || event->map_ns;
	sim->totals.update_model_ns += event->unmap_ns + event->map_ns;
	if (event->save_ns)
		hist_add(&sim->totals.save, event->save_ns);
	runlist_update_continue(update);
}
