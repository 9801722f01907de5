// SPDX-License-Identifier: MIT
/*
 * Links, over which SDMA engines copy. The copies on a link share its bandwidth equally, and none
 * of them is faster than its engine.
 *
 * Remaining work is counted in thousandths of a byte, because a bandwidth of b bytes per
 * microsecond is b thousandths of a byte per nanosecond.
 */
#include "sim/gpu/gpu_priv.h"

#define THOUSANDTHS 1000u

/* Subtracts the work that was done since copy_since at the present speed. */
static void settle(const struct gpu *gpu, struct gpu_queue *queue)
{
	uint64_t span = gpu->now - queue->copy_since;
	unsigned __int128 done = (unsigned __int128)span * queue->copy_speed;

	queue->copy_left = done < queue->copy_left ? queue->copy_left - (uint64_t)done : 0;
	queue->copy_since = gpu->now;
}

/* Recalculates the speed of all copies on the link, because their number has changed. */
static void share_out(struct gpu *gpu, struct gpu_link *link)
{
	uint64_t speed;

	if (link->n == 0)
		return;
	speed = link->bytes_us / link->n;
	if (gpu->config.engine_bytes_us && speed > gpu->config.engine_bytes_us)
		speed = gpu->config.engine_bytes_us;
	speed = speed ? speed : 1;
	for (struct list *node = link->copies.next; node != &link->copies; node = node->next) {
		struct gpu_queue *queue = list_entry(node, struct gpu_queue, on_link);
		uint64_t span;

		settle(gpu, queue);
		queue->copy_speed = speed;
		span = queue->copy_left / speed + (queue->copy_left % speed > 0);
		if (queue->cp_timer.pos != TIMER_IDLE)
			heap_cancel(&gpu->heap, &queue->cp_timer);
		heap_push(&gpu->heap, &queue->cp_timer, time_add(gpu->now, span));
	}
}

uint64_t link_work(uint64_t bytes)
{
	return bytes > UINT64_MAX / THOUSANDTHS ? UINT64_MAX : bytes * THOUSANDTHS;
}

void link_start(struct gpu *gpu, struct gpu_queue *queue)
{
	struct gpu_link *link = &gpu->links[queue_packet(queue, queue->cp)->p.link];

	list_insert(&link->copies, &queue->on_link);
	link->n++;
	queue->copy_since = gpu->now;
	queue->copy_speed = 0;
	share_out(gpu, link);
}

void link_stop(struct gpu *gpu, struct gpu_queue *queue)
{
	struct gpu_link *link = &gpu->links[queue_packet(queue, queue->cp)->p.link];

	if (list_empty(&queue->on_link))
		return;
	settle(gpu, queue);
	if (queue->cp_timer.pos != TIMER_IDLE)
		heap_cancel(&gpu->heap, &queue->cp_timer);
	list_remove(&queue->on_link);
	link->n--;
	share_out(gpu, link);
}
