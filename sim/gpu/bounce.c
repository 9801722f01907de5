// SPDX-License-Identifier: MIT
/*
 * Bounces: unmap all queues and save what lives, apply the changes, map the
 * queues that are to run and restore what lives in them.
 *
 * Restoring is charged for what can have units again at once: state of more
 * units than the GPU has (one queue ran while the other was off) waits in memory
 * and is restored beside running work.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/gpu/internal.h"

/* `units` of state at so many bytes per microsecond. */
static uint64_t copy_ns(const struct gpu *gpu, uint64_t units, uint64_t bytes_us)
{
	unsigned __int128 ns = (unsigned __int128)units * gpu->config.save_bytes_unit * 1000;

	ns /= bytes_us;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

int gpu_bounce(struct gpu *gpu, uint64_t tag, const struct gpu_change *changes, size_t n)
{
	if (n > 0 && !changes)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!queue_find(gpu, changes[i].queue))
			return -ENOENT;
	struct bounce *bounce = malloc(sizeof(*bounce) + n * sizeof(*changes));
	struct bounce **end = &gpu->bounces;

	if (!bounce)
		return -ENOMEM;
	*bounce = (struct bounce){.tag = tag, .n = n};
	if (n > 0)
		memcpy(bounce->changes, changes, n * sizeof(*changes));
	while (*end)
		end = &(*end)->next;
	*end = bounce;
	bounce_start(gpu);
	return 0;
}

void bounce_start(struct gpu *gpu)
{
	uint64_t live = gpu_live_units(gpu);

	if (!gpu->bounces || gpu->bounce_phase != BOUNCE_NONE)
		return;
	gpu->bounce_phase = BOUNCE_UNMAP;
	gpu->bounce_count++;
	for (uint32_t i = 0; i < gpu->n_ids; i++) {
		struct queue *queue = gpu->queues[i];

		if (!queue)
			continue;
		cp_stop(gpu, queue);
		for (uint32_t x = 0; x < gpu->config.xccs; x++)
			list_remove(&queue->seats[x].restoring);
		if (queue_save(gpu, queue))
			queue->stats.preempted++;
	}
	gpu->save_ns = copy_ns(gpu, live, gpu->config.save_bytes_us);
	heap_push(&gpu->heap, &gpu->bounce_timer,
		  time_add(gpu->now, time_add(gpu->config.unmap_ns, gpu->save_ns)));
}

static void change(struct gpu *gpu, const struct gpu_change *change)
{
	struct queue *queue = gpu->queues[change->queue];

	if (queue->mapped == change->map)
		return;
	queue->mapped = change->map;
	if (queue->phase != CP_LAUNCH)
		return;
	if (queue->mapped)
		dispatch_wait(gpu, queue);
	else
		dispatch_unwait(gpu, queue);
}

/* What was asked for since the last bounce. */
static void adopt(struct gpu *gpu, struct queue *queue)
{
	bool waits = queue->mapped && queue->phase == CP_LAUNCH;

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

static void unmapped(struct gpu *gpu, struct gpu_event *event)
{
	struct bounce *bounce = gpu->bounces;
	uint64_t live = 0;

	for (uint32_t i = 0; i < gpu->n_ids; i++)
		if (gpu->queues[i])
			adopt(gpu, gpu->queues[i]);
	for (size_t i = 0; i < bounce->n; i++)
		change(gpu, &bounce->changes[i]);
	for (uint32_t i = 0; i < gpu->n_ids; i++)
		if (gpu->queues[i] && gpu->queues[i]->mapped)
			live += gpu->queues[i]->saved_units;
	if (live > gpu->units)
		live = gpu->units;
	gpu->bounce_phase = BOUNCE_MAP;
	gpu->restore_ns = copy_ns(gpu, live, gpu->config.restore_bytes_us);
	heap_push(&gpu->heap, &gpu->bounce_timer,
		  time_add(gpu->now, time_add(gpu->config.map_ns, gpu->restore_ns)));
	*event = (struct gpu_event){
		.type = GPU_EVENT_UNMAPPED,
		.t = gpu->now,
		.tag = bounce->tag,
		.save_ns = gpu->save_ns,
	};
}

static void mapped(struct gpu *gpu, struct gpu_event *event)
{
	struct bounce *bounce = gpu->bounces;

	*event = (struct gpu_event){
		.type = GPU_EVENT_MAPPED,
		.t = gpu->now,
		.tag = bounce->tag,
		.restore_ns = gpu->restore_ns,
	};
	gpu->bounces = bounce->next;
	free(bounce);
	gpu->bounce_phase = BOUNCE_NONE;
	gpu->hand_out = true;
	for (uint32_t i = 0; i < gpu->n_ids; i++) {
		struct queue *queue = gpu->queues[i];

		if (!queue || !queue->mapped)
			continue;
		queue_restore(gpu, queue);
		cp_start(gpu, queue);
	}
	if (gpu->bounces) {
		/* The next follows at once: what is restored is saved again. */
		dispatch_hand_out(gpu);
		bounce_start(gpu);
	}
}

void bounce_timer_fired(struct gpu *gpu, struct gpu_event *event)
{
	if (gpu->bounce_phase == BOUNCE_UNMAP)
		unmapped(gpu, event);
	else
		mapped(gpu, event);
}

void bounce_forget(struct gpu *gpu, uint32_t queue)
{
	for (struct bounce *bounce = gpu->bounces; bounce; bounce = bounce->next) {
		size_t kept = 0;

		for (size_t i = 0; i < bounce->n; i++)
			if (bounce->changes[i].queue != queue)
				bounce->changes[kept++] = bounce->changes[i];
		bounce->n = kept;
	}
}
