// SPDX-License-Identifier: MIT
/*
 * Bounces: under the scheduling firmware every change of a queue takes all
 * queues of the node off and puts a new list on (kfd-facts: surprise 1). The
 * ioctl that asked returns when the old list is off, so its answer waits for
 * that; meanwhile the process's mutex is held, as in the kernel.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/kfd/files.h"

bool queue_active(const struct queue *queue)
{
	return queue->ring && queue->ring_bytes && queue->percent && !queue->suspended &&
	       !queue->leaving && !queue->process->dead;
}

uint64_t nodes_active(const struct world *world)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < world->nodes_n; i++)
		if (world->nodes[i].active_queues)
			mask |= 1ull << i;
	return mask;
}

struct bounce *bounce_new(struct process *process, struct call *call,
			  void (*unmapped)(struct bounce *))
{
	struct bounce *bounce = calloc(1, sizeof *bounce);

	if (!bounce)
		return NULL;
	bounce->world = process->world;
	bounce->process = process;
	bounce->call = call;
	bounce->unmapped = unmapped;
	return bounce;
}

/* One round on all of its nodes; none of them: it is over. */
static void bounce_round(struct bounce *bounce);

static void bounce_end(struct bounce *bounce)
{
	struct process *process = bounce->process;

	if (bounce->again) {
		bounce->again--;
		bounce_round(bounce);
		return;
	}
	process_ref(process);
	if (bounce->unmapped)
		bounce->unmapped(bounce);
	process_unlock(process);
	if (bounce->released)
		bounce->released(bounce);
	if (bounce->call)
		call_answer(bounce->call, bounce->result);
	process_unref(process);
	free(bounce->ids);
	free(bounce);
}

/* The node's part of it. */
static int ask_node(struct bounce *bounce, struct node *node)
{
	struct gpu_change changes[QUEUES_PER_PROCESS_NODE + 1];
	struct queue *queue;
	size_t n = 0;
	int r;

	TAILQ_FOREACH(queue, &bounce->process->queues, link)
	{
		bool active = queue_active(queue);

		if (&bounce->world->nodes[queue->node] != node || queue->map_wanted == active)
			continue;
		changes[n].queue = (uint32_t)queue->gpu_queue;
		changes[n++].map = active;
	}
	r = gpu_bounce(node->gpu, (uint64_t)(uintptr_t)bounce, changes, n);
	if (r)
		return r;
	TAILQ_FOREACH(queue, &bounce->process->queues, link)
	{
		bool active = queue_active(queue);

		if (&bounce->world->nodes[queue->node] != node || queue->map_wanted == active)
			continue;
		queue->map_wanted = active;
		node->active_queues += active ? 1u : -1u;
	}
	return 0;
}

static void bounce_round(struct bounce *bounce)
{
	struct world *world = bounce->world;

	for (uint32_t i = 0; i < world->nodes_n; i++) {
		if (!(bounce->nodes >> i & 1))
			continue;
		if (ask_node(bounce, &world->nodes[i])) {
			say("no memory for a bounce: the simulated GPU is not to be trusted");
			bounce->result = -ENOMEM;
			continue;
		}
		bounce->left++;
	}
	if (!bounce->left)
		bounce_end(bounce);
}

void bounce_begin(struct bounce *bounce)
{
	process_lock(bounce->process);
	bounce_round(bounce);
}

void bounce_event(struct node *node, const struct gpu_event *event)
{
	struct world *world = node->world;
	const struct gpu_config *costs = &world->config.gpu;
	struct bounce *bounce = (void *)(uintptr_t)event->tag;

	if (event->type == GPU_EVENT_MAPPED) {
		/* The bounce itself may be over and freed: its tag is not looked at. */
		if (event->restore_ns)
			hist_add(&world->figures.restore, event->restore_ns);
		drive_reread_wptr(node);
		return;
	}
	world->figures.bounces++;
	procfs_touch(world);
	debugfs_changed(world);
	hqd_update(bounce->process, (uint32_t)(node - world->nodes));
	world->figures.bounce_model_ns += costs->unmap_ns + costs->map_ns;
	if (event->save_ns)
		hist_add(&world->figures.save, event->save_ns);
	if (!--bounce->left)
		bounce_end(bounce);
}
