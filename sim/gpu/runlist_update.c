// SPDX-License-Identifier: MIT
/*
 * Simulates runlist updates. An update unmaps all queues and saves their live state, applies the
 * changes, maps the queues that are to run, and restores their live state.
 *
 * An update takes restore time only for the saved state that fits into the wave slots of the GPU at
 * once. There may be more (one queue ran while another was off); the rest stays in memory and is
 * restored later, while other work runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/gpu/gpu_priv.h"

/* Returns the time in ns to copy the state of `wave_slots` slots at `bytes_us` bytes per us. */
static uint64_t copy_ns(const struct gpu *gpu, uint64_t wave_slots, uint64_t bytes_us)
{
	unsigned __int128 ns = (unsigned __int128)wave_slots * gpu->config.save_bytes_unit * 1000;

	ns /= bytes_us;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

uint64_t save_cost(const struct gpu *gpu, uint64_t wave_slots)
{
	return copy_ns(gpu, wave_slots, gpu->config.save_bytes_us);
}

uint64_t restore_cost(const struct gpu *gpu, uint64_t wave_slots)
{
	return copy_ns(gpu, wave_slots, gpu->config.restore_bytes_us);
}

/* Returns first_suspend_ns if this runlist update suspends a queue for the first time, else 0. */
static uint64_t first_suspend(struct gpu *gpu, const struct gpu_update *update)
{
	uint64_t extra = 0;

	for (size_t i = 0; i < update->n; i++) {
		const struct gpu_change *change = &update->changes[i];
		struct gpu_queue *queue = gpu->queues[change->queue];

		if (change->map || !change->suspend || queue->suspended_yet)
			continue;
		queue->suspended_yet = true;
		extra = gpu->config.first_suspend_ns;
	}
	return extra;
}

/* Starts the first pending runlist update if none is in progress. */
static void update_start(struct gpu *gpu)
{
	struct gpu_update *update = gpu->updates;

	if (!update || gpu->update_phase != UPDATE_NONE)
		return;
	gpu->update_count++;
	gpu->save_ns = save_cost(gpu, gpu_live_wave_slots(gpu));
	runlist_stop(gpu);
	FOR_QUEUES (gpu, queue)
		queue_stop(gpu, queue);
	update->unmap_ns = time_add(update->unmap_ns, first_suspend(gpu, update));
	gpu->copy_from = time_add(gpu->now, update->unmap_ns);
	gpu->update_phase = UPDATE_UNMAP;
	heap_push(&gpu->heap, &gpu->update_timer, time_add(gpu->copy_from, gpu->save_ns));
}

int gpu_update_runlist(struct gpu *gpu, uint64_t tag, const struct gpu_change *changes, size_t n)
{
	return gpu_update_runlist_within(gpu, tag, changes, n, gpu->config.unmap_ns,
					 gpu->config.map_ns);
}

int gpu_update_runlist_within(struct gpu *gpu, uint64_t tag, const struct gpu_change *changes,
			      size_t n, uint64_t unmap_ns, uint64_t map_ns)
{
	if (n > 0 && !changes)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!queue_find(gpu, changes[i].queue))
			return -ENOENT;
	struct gpu_update *update = malloc(sizeof(*update) + n * sizeof(*changes));
	struct gpu_update **end = &gpu->updates;

	if (!update)
		return -ENOMEM;
	*update = (struct gpu_update){.tag = tag, .unmap_ns = unmap_ns, .map_ns = map_ns, .n = n};
	if (n > 0)
		memcpy(update->changes, changes, n * sizeof(*changes));
	while (*end)
		end = &(*end)->next;
	*end = update;
	update_start(gpu);
	return 0;
}

/* Applies the queue's priority class and CU mask that were set since the last runlist update. */
static void adopt(struct gpu *gpu, struct gpu_queue *queue)
{
	bool waits = queue->on && queue->phase == CP_LAUNCH;

	if (queue->class != queue->wanted_class) {
		if (waits)
			dispatch_unwait(gpu, queue);
		queue->class = queue->wanted_class;
		if (waits)
			dispatch_wait(gpu, queue);
	}
	if (queue->wanted_open) {
		for (uint32_t x = 0; x < gpu->config.xccs; x++)
			queue->seats[x].open = queue->wanted_open[x];
		free(queue->wanted_open);
		queue->wanted_open = NULL;
		queue->moved = true;
	}
}

/* Applies the changes of the runlist update and chooses the queues that have a slot. */
static void take_effect(struct gpu *gpu, const struct gpu_update *update)
{
	FOR_QUEUES (gpu, queue)
		adopt(gpu, queue);
	for (size_t i = 0; i < update->n; i++) {
		const struct gpu_change *change = &update->changes[i];
		struct gpu_queue *queue = gpu->queues[change->queue];

		queue->mapped = change->map;
		queue->suspended = !change->map && change->suspend;
		times_queue(gpu, queue);
	}
	runlist_fill(gpu);
}

/* Ends the first half of the runlist update: applies the changes, begins the second half and fills
 * *event with UNMAPPED. */
static void unmapped(struct gpu *gpu, struct gpu_event *event)
{
	const struct gpu_update *update = gpu->updates;
	uint64_t live = 0;

	take_effect(gpu, update);
	FOR_QUEUES (gpu, queue)
		live += queue->on ? queue->saved_wave_slots : 0;
	if (live > gpu->wave_slots)
		live = gpu->wave_slots;
	gpu->update_phase = UPDATE_MAP;
	gpu->copy_from = time_add(gpu->now, update->map_ns);
	gpu->restore_ns = restore_cost(gpu, live);
	heap_push(&gpu->heap, &gpu->update_timer,
		  time_add(gpu->now, time_add(update->map_ns, gpu->restore_ns)));
	*event = (struct gpu_event){
		.type = GPU_EVENT_UNMAPPED,
		.t = gpu->now,
		.tag = update->tag,
		.unmap_ns = update->unmap_ns,
		.map_ns = update->map_ns,
		.save_ns = gpu->save_ns,
	};
}

/* Ends the runlist update: restores state, starts the queues that have a slot, starts the next
 * runlist update, and fills *event with MAPPED. */
static void mapped(struct gpu *gpu, struct gpu_event *event)
{
	struct gpu_update *update = gpu->updates;

	*event = (struct gpu_event){
		.type = GPU_EVENT_MAPPED,
		.t = gpu->now,
		.tag = update->tag,
		.restore_ns = gpu->restore_ns,
	};
	gpu->updates = update->next;
	free(update);
	gpu->update_phase = UPDATE_NONE;
	/* Assign wave slots on every XCC, because masks and priorities may have changed. */
	gpu->hand_out = true;
	for (uint32_t x = 0; x < gpu->config.xccs; x++)
		gpu->xccs[x].hand_out = true;
	runlist_fill(gpu); /* queues may have been removed since UNMAPPED */
	FOR_QUEUES (gpu, queue) {
		if (!queue->on)
			continue;
		queue_restore(gpu, queue, true);
		cp_start(gpu, queue);
	}
	runlist_start(gpu);
	if (gpu->updates) {
		/* The next runlist update begins at this instant, and saves also the workgroups
		 * that dispatch_hand_out() starts now. */
		dispatch_hand_out(gpu);
		update_start(gpu);
	}
}

void update_timer_fired(struct gpu *gpu, struct gpu_event *event)
{
	if (gpu->update_phase == UPDATE_UNMAP)
		unmapped(gpu, event);
	else
		mapped(gpu, event);
}

/* Stops and unmaps the queue, and drops the packets that have begun. */
static void reset_queue(struct gpu *gpu, struct gpu_queue *queue)
{
	cp_stop(gpu, queue);
	for (uint32_t x = 0; x < gpu->config.xccs; x++)
		list_remove(&queue->seats[x].restoring);
	queue_drop_cohorts(gpu, queue);
	queue_set_on(gpu, queue, false);
	queue->mapped = false;
	cp_lose(gpu, queue);
}

int gpu_queue_reset(struct gpu *gpu, uint32_t queue)
{
	struct gpu_queue *found = queue_find(gpu, queue);

	if (!found)
		return -ENOENT;
	if (gpu->update_phase != UPDATE_MAP)
		return -EBUSY;
	reset_queue(gpu, found);
	times_queue(gpu, found);
	return 0;
}

void update_forget(struct gpu *gpu, uint32_t queue)
{
	for (struct gpu_update *update = gpu->updates; update; update = update->next) {
		size_t n_valid = 0;

		for (size_t i = 0; i < update->n; i++)
			if (update->changes[i].queue != queue)
				update->changes[n_valid++] = update->changes[i];
		update->n = n_valid;
	}
}
