// SPDX-License-Identifier: MIT
/*
 * Simulates command processors and SDMA engines, by which a queue advances from packet to packet.
 *
 * A compute queue has a command processor of its own. An SDMA queue shares its engine: it uses the
 * engine for one packet (packet_ns and busy_ns), then the engine serves its other queues. A WAIT
 * packet does not occupy the engine.
 *
 * SDMA engines copy over links. The copies on a link share its bandwidth equally, and no copy is
 * faster than its engine. Remaining work is counted in thousandths of a byte, because a bandwidth
 * of b bytes per microsecond is b thousandths of a byte per nanosecond.
 */
#include "sim/gpu/gpu_priv.h"

#define THOUSANDTHS 1000u

/* Subtracts from copy_left what was copied since copy_since at the present speed. */
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
	FOR_LIST (struct gpu_queue, queue, &link->copies, on_link) {
		uint64_t span;

		settle(gpu, queue);
		queue->copy_speed = speed;
		span = queue->copy_left / speed + (queue->copy_left % speed > 0);
		if (queue->cp_timer.pos != TIMER_IDLE)
			heap_cancel(&gpu->heap, &queue->cp_timer);
		heap_push(&gpu->heap, &queue->cp_timer, time_add(gpu->now, span));
	}
}

/* Begins or continues the COPY packet of the queue. */
static void link_start(struct gpu *gpu, struct gpu_queue *queue)
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

void cp_kick(struct gpu *gpu, struct gpu_queue *queue)
{
	if (list_empty(&queue->kicked))
		list_insert(&gpu->kicked, &queue->kicked);
}

/* Returns true if the queue has a slot and needs its engine: in any phase but IDLE and WAIT. */
static bool wants_engine(const struct gpu_queue *queue)
{
	return queue->on && (queue->phase == CP_FETCH || queue->phase == CP_EFFECT ||
			     queue->phase == CP_WORK || queue->phase == CP_COPY);
}

/* Continues a command processor that was stopped. In FETCH, WORK or COPY the remaining time goes
 * on; EFFECT is left to cp_advance(). An SDMA queue must have its engine. */
static void resume(struct gpu *gpu, struct gpu_queue *queue)
{
	if (queue->phase == CP_EFFECT) {
		cp_kick(gpu, queue);
		return;
	}
	if (queue->phase == CP_WORK || queue->phase == CP_COPY) {
		queue_account(gpu, queue);
		queue->working = true;
		times_queue(gpu, queue);
	}
	if (queue->phase == CP_COPY) {
		link_start(gpu, queue);
		return;
	}
	heap_push(&gpu->heap, &queue->cp_timer, time_add(gpu->now, queue->remain));
}

/* Assigns the engine, if it is free, to the first queue in its list that needs it. */
static void engine_pick(struct gpu *gpu, struct engine *engine)
{
	if (engine->current || gpu->update_phase != UPDATE_NONE)
		return;
	FOR_LIST (struct gpu_queue, queue, &engine->queues, on_engine) {
		if (wants_engine(queue)) {
			engine->current = queue;
			/* Move the queue to the front of the list, so that it is the first to
			 * continue after a runlist update. */
			list_remove(&queue->on_engine);
			list_insert(engine->queues.next, &queue->on_engine);
			resume(gpu, queue);
			return;
		}
	}
}

/* Ends the queue's turn on its engine. */
static void engine_yield(struct gpu *gpu, struct gpu_queue *queue)
{
	struct engine *engine = queue->engine;

	if (!engine || engine->current != queue)
		return;
	engine->current = NULL;
	list_remove(&queue->on_engine);
	list_insert(&engine->queues, &queue->on_engine);
	engine_pick(gpu, engine);
}

void cp_step_over(struct gpu *gpu, struct gpu_queue *queue)
{
	queue->cp++;
	queue->phase = CP_IDLE;
	cp_kick(gpu, queue);
}

/* Starts the next packet of the queue; an SDMA queue may have to wait for its engine. */
static void fetch(struct gpu *gpu, struct gpu_queue *queue)
{
	queue->phase = CP_FETCH;
	queue->remain = gpu->config.packet_ns;
	if (queue->engine)
		engine_pick(gpu, queue->engine);
	else
		resume(gpu, queue);
}

/* Starts the work of the packet at the command processor, after packet_ns has passed. */
static void take_effect(struct gpu *gpu, struct gpu_queue *queue)
{
	struct packet_run *packet = queue_packet(queue, queue->cp);

	packet->start = gpu->now;
	switch (packet->p.kind) {
	case GPU_PACKET_DISPATCH:
		queue->phase = CP_LAUNCH;
		dispatch_begin(gpu, queue);
		break;
	case GPU_PACKET_COPY:
		queue->copy_left = packet->p.bytes > UINT64_MAX / THOUSANDTHS
					   ? UINT64_MAX
					   : packet->p.bytes * THOUSANDTHS;
		__attribute__((fallthrough));
	case GPU_PACKET_WORK:
		queue->phase = CP_WORK;
		queue->remain = packet->p.busy_ns;
		resume(gpu, queue);
		break;
	case GPU_PACKET_WAIT:
		queue->phase = CP_WAIT;
		queue->announced = queue->released = false;
		engine_yield(gpu, queue);
		break;
	}
}

static void emit(const struct gpu *gpu, const struct gpu_queue *queue, enum gpu_event_type type,
		 const struct packet_run *packet, struct gpu_event *event)
{
	*event = (struct gpu_event){
		.type = type,
		.t = gpu->now,
		.queue = queue->id,
		.tag = packet->p.tag,
		.start_ns = type == GPU_EVENT_RETIRED ? packet->start : 0,
	};
}

/* Retires the oldest packet of the queue, which is complete. */
static void retire(struct gpu *gpu, struct gpu_queue *queue, struct gpu_event *event)
{
	struct packet_run *packet = queue_packet(queue, queue->head);

	emit(gpu, queue, GPU_EVENT_RETIRED, packet, event);
	queue->stats.packets_retired++;
	queue_unreserve(gpu, queue, &packet->p);
	queue->head++;
	times_queue(gpu, queue);
	gpu->fill_slots |= gpu->slicing && queue->head == queue->tail;
}

bool cp_advance(struct gpu *gpu, struct gpu_queue *queue, struct gpu_event *event)
{
	for (;;) {
		struct packet_run *packet = queue_packet(queue, queue->cp);

		/* A complete packet retires even if the queue has lost its slot since. */
		if (queue->head < queue->cp && queue_packet(queue, queue->head)->complete) {
			retire(gpu, queue, event);
			return true;
		}
		if (!queue_runs(gpu, queue) || queue->cp == queue->tail)
			return false;
		switch (queue->phase) {
		case CP_IDLE:
			if (!packet->p.barrier || queue->head == queue->cp)
				fetch(gpu, queue);
			return false;
		case CP_EFFECT:
			if (queue->engine && queue->engine->current != queue)
				return false;
			take_effect(gpu, queue);
			emit(gpu, queue, GPU_EVENT_STARTED, packet, event);
			return true;
		case CP_WAIT:
			if (!queue->announced) {
				queue->announced = true;
				emit(gpu, queue, GPU_EVENT_WAITING, packet, event);
				return true;
			}
			if (!queue->released)
				return false;
			packet->complete = true;
			cp_step_over(gpu, queue);
			break;
		case CP_FETCH:
		case CP_LAUNCH:
		case CP_WORK:
		case CP_COPY:
			return false;
		}
	}
}

void cp_timer_fired(struct gpu *gpu, struct gpu_queue *queue)
{
	if (queue->phase == CP_FETCH) {
		queue->phase = CP_EFFECT;
		cp_kick(gpu, queue);
		return;
	}
	struct packet_run *packet = queue_packet(queue, queue->cp);

	if (queue->phase == CP_WORK && packet->p.kind == GPU_PACKET_COPY && packet->p.bytes > 0) {
		queue->phase = CP_COPY;
		link_start(gpu, queue);
		return;
	}
	if (queue->phase == CP_COPY)
		link_stop(gpu, queue);
	queue_account(gpu, queue);
	queue->working = false;
	times_queue(gpu, queue);
	packet->complete = true;
	cp_step_over(gpu, queue);
	engine_yield(gpu, queue);
}

void cp_stop(struct gpu *gpu, struct gpu_queue *queue)
{
	if (queue->phase == CP_COPY) {
		link_stop(gpu, queue);
	} else if (queue->cp_timer.pos != TIMER_IDLE) {
		queue->remain = gpu->heap.entries[queue->cp_timer.pos].t - gpu->now;
		heap_cancel(&gpu->heap, &queue->cp_timer);
	}
	queue_account(gpu, queue);
	queue->working = false;
	times_queue(gpu, queue);
	/* The queue stays first in the engine's list, because its packet is not finished. */
	if (queue->engine && queue->engine->current == queue)
		queue->engine->current = NULL;
}

void cp_start(struct gpu *gpu, struct gpu_queue *queue)
{
	if (queue->engine)
		engine_pick(gpu, queue->engine);
	else if (queue->phase == CP_FETCH || queue->phase == CP_WORK)
		resume(gpu, queue);
	cp_kick(gpu, queue);
}

void cp_pick_all(struct gpu *gpu)
{
	for (uint32_t i = 0; i < gpu->n_engines; i++)
		engine_pick(gpu, &gpu->engines[i]);
}

void cp_lose(struct gpu *gpu, struct gpu_queue *queue)
{
	bool begun = queue->phase == CP_LAUNCH || queue->phase == CP_WORK ||
		     queue->phase == CP_COPY || queue->phase == CP_WAIT;

	queue->cp += begun;
	queue->phase = CP_IDLE;
	queue->launching = 0;
	for (uint32_t x = 0; x < gpu->config.xccs; x++)
		queue->seats[x].row = queue->seats[x].rows = 0;
	queue->lost = queue->cp;
	gpu->losing |= queue->head < queue->lost;
}

bool cp_emit_lost(struct gpu *gpu, struct gpu_event *event)
{
	FOR_QUEUES (gpu, queue) {
		if (queue->head >= queue->lost)
			continue;
		struct packet_run *packet = queue_packet(queue, queue->head);

		emit(gpu, queue, GPU_EVENT_LOST, packet, event);
		event->start_ns = packet->start;
		queue_unreserve(gpu, queue, &packet->p);
		queue->head++;
		times_queue(gpu, queue);
		return true;
	}
	gpu->losing = false;
	return false;
}

void cp_forget(struct gpu *gpu, struct gpu_queue *queue)
{
	struct engine *engine = queue->engine;

	if (!engine)
		return;
	list_remove(&queue->on_engine);
	engine->n--;
	if (engine->current == queue) {
		engine->current = NULL;
		engine_pick(gpu, engine);
	}
}
