// SPDX-License-Identifier: MIT
/*
 * Units and cohorts: which workgroups run, and who gets the units that are free.
 *
 * Saved state of mapped queues comes first: nothing new of any queue is
 * launched before all of it has units again. Then the queues that wait take one
 * workgroup each in turn. The turn stays with a queue whose workgroup does not
 * fit until it fits: smaller ones behind it wait too, so it is not starved.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/gpu/internal.h"

#define CHUNK_MIN 256u

int cohorts_reserve(struct gpu *gpu, uint64_t more)
{
	uint64_t want = gpu->reserved + more;

	if (want > gpu->cohorts) {
		uint64_t n = want - gpu->cohorts;

		n = n > gpu->cohorts ? n : gpu->cohorts;
		n = n > CHUNK_MIN ? n : CHUNK_MIN;
		if (heap_reserve(&gpu->heap, gpu->cohorts + n + gpu->n_queues + 1))
			return -ENOMEM;
		struct chunk *chunk = malloc(sizeof(*chunk) + n * sizeof(chunk->cohorts[0]));

		if (!chunk)
			return -ENOMEM;
		chunk->next = gpu->chunks;
		gpu->chunks = chunk;
		gpu->cohorts += n;
		for (uint64_t i = 0; i < n; i++)
			list_insert(&gpu->spare, &chunk->cohorts[i].node);
	}
	gpu->reserved = want;
	return 0;
}

void cohorts_free(struct gpu *gpu)
{
	while (gpu->chunks) {
		struct chunk *next = gpu->chunks->next;

		free(gpu->chunks);
		gpu->chunks = next;
	}
}

static struct cohort *cohort_take(struct gpu *gpu, struct queue *queue, uint64_t packet,
				  uint32_t first, uint32_t count)
{
	assert(!list_empty(&gpu->spare)); /* gpu_submit() has reserved it */
	struct cohort *cohort = list_entry(gpu->spare.next, struct cohort, node);

	list_remove(&cohort->node);
	*cohort = (struct cohort){
		.timer = {.kind = TIMER_COHORT, .pos = TIMER_IDLE},
		.queue = queue,
		.packet = packet,
		.first = first,
		.count = count,
	};
	list_init(&cohort->node);
	return cohort;
}

/* The one that was used last is taken first: it is in the cache. */
static void cohort_put(struct gpu *gpu, struct cohort *cohort)
{
	list_remove(&cohort->node);
	list_insert(gpu->spare.next, &cohort->node);
}

static void hold(struct gpu *gpu, struct queue *queue, uint32_t units)
{
	queue_account(gpu, queue);
	queue->held += units;
	gpu->free -= units;
}

static void let_go(struct gpu *gpu, struct queue *queue, uint32_t units)
{
	queue_account(gpu, queue);
	queue->held -= units;
	gpu->free += units;
	gpu->hand_out = true;
}

static uint32_t units_of(const struct cohort *cohort)
{
	return cohort->count * queue_packet(cohort->queue, cohort->packet)->p.units;
}

static void run(struct gpu *gpu, struct cohort *cohort, uint64_t span)
{
	list_insert(&cohort->queue->running, &cohort->node);
	heap_push(&gpu->heap, &cohort->timer, time_add(gpu->now, span));
}

bool dispatch_cohort_ended(struct gpu *gpu, struct cohort *cohort, struct gpu_event *event)
{
	struct queue *queue = cohort->queue;
	struct packet *packet = queue_packet(queue, cohort->packet);
	bool trace = packet->p.trace;

	let_go(gpu, queue, units_of(cohort));
	packet->ended += cohort->count;
	queue->stats.wgs_done += cohort->count;
	if (packet->ended == packet->p.wgs) {
		packet->complete = true;
		cp_kick(gpu, queue);
	}
	if (trace)
		*event = (struct gpu_event){
			.type = GPU_EVENT_WORKGROUPS,
			.t = gpu->now,
			.queue = queue->id,
			.tag = packet->p.tag,
			.first = cohort->first,
			.count = cohort->count,
		};
	cohort_put(gpu, cohort);
	return trace;
}

bool dispatch_save(struct gpu *gpu, struct queue *queue)
{
	if (list_empty(&queue->running))
		return false;
	for (struct list *node = queue->running.next; node != &queue->running; node = node->next) {
		struct cohort *cohort = list_entry(node, struct cohort, node);

		cohort->remain = gpu->heap.entries[cohort->timer.pos].t - gpu->now;
		cohort->saved_by = gpu->bounce_count;
		heap_cancel(&gpu->heap, &cohort->timer);
	}
	queue->saved_units += queue->held;
	let_go(gpu, queue, (uint32_t)queue->held);
	/* What was running goes back before what has not had units yet. */
	list_move_front(&queue->saved, &queue->running);
	return true;
}

void dispatch_drop(struct gpu *gpu, struct queue *queue)
{
	while (!list_empty(&queue->running)) {
		struct cohort *cohort = list_entry(queue->running.next, struct cohort, node);

		heap_cancel(&gpu->heap, &cohort->timer);
		cohort_put(gpu, cohort);
	}
	while (!list_empty(&queue->saved))
		cohort_put(gpu, list_entry(queue->saved.next, struct cohort, node));
	let_go(gpu, queue, (uint32_t)queue->held);
}

void dispatch_wait(struct gpu *gpu, struct queue *queue)
{
	list_insert(&gpu->waiting, &queue->waiting);
	gpu->hand_out = true;
}

/* The first saved cohort, or as much of it as fits, has units again. False: not
 * one of its workgroups fits. */
static bool restore_first(struct gpu *gpu, struct queue *queue)
{
	struct cohort *cohort = list_entry(queue->saved.next, struct cohort, node);
	uint32_t fit = gpu->free / (units_of(cohort) / cohort->count);

	if (fit == 0)
		return false;
	if (fit < cohort->count) {
		struct cohort *part = cohort_take(gpu, queue, cohort->packet, cohort->first, fit);

		part->remain = cohort->remain;
		cohort->first += fit;
		cohort->count -= fit;
		cohort = part;
	} else {
		list_remove(&cohort->node);
	}
	hold(gpu, queue, units_of(cohort));
	queue->saved_units -= units_of(cohort);
	run(gpu, cohort, cohort->remain);
	return true;
}

void dispatch_restore(struct gpu *gpu, struct queue *queue)
{
	while (!list_empty(&queue->saved)) {
		struct cohort *cohort = list_entry(queue->saved.next, struct cohort, node);

		if (cohort->saved_by != gpu->bounce_count) {
			list_insert(&gpu->restoring, &queue->restoring);
			return;
		}
		restore_first(gpu, queue); /* it fits: these ran side by side */
	}
}

/* `n` workgroups of the queue's dispatch begin. Those of one hand-out are one
 * cohort. */
static void launch(struct gpu *gpu, struct queue *queue, uint32_t n)
{
	struct packet *packet = queue_packet(queue, queue->cp);

	hold(gpu, queue, n * packet->p.units);
	if (queue->fresh_round == gpu->round && queue->fresh->packet == queue->cp) {
		queue->fresh->count += n;
	} else {
		queue->fresh = cohort_take(gpu, queue, queue->cp, packet->launched, n);
		queue->fresh_round = gpu->round;
		run(gpu, queue->fresh, packet->p.wg_ns);
	}
	packet->launched += n;
	if (packet->launched == packet->p.wgs)
		cp_launched(gpu, queue);
}

/* As many whole rounds of the turn as fit and as nobody runs out in: the same
 * as going workgroup by workgroup, at once. False: not one. */
static bool whole_rounds(struct gpu *gpu)
{
	struct list *node, *next;
	uint64_t units = 0;
	uint32_t rounds = UINT32_MAX;

	for (node = gpu->waiting.next; node != &gpu->waiting; node = node->next) {
		struct queue *queue = list_entry(node, struct queue, waiting);
		struct packet *packet = queue_packet(queue, queue->cp);
		uint32_t left = packet->p.wgs - packet->launched;

		units += packet->p.units;
		rounds = left < rounds ? left : rounds;
		if (units > gpu->free)
			return false;
	}
	if (gpu->free / units < rounds)
		rounds = (uint32_t)(gpu->free / units);
	for (node = gpu->waiting.next; node != &gpu->waiting; node = next) {
		next = node->next;
		launch(gpu, list_entry(node, struct queue, waiting), rounds);
	}
	return true;
}

void dispatch_hand_out(struct gpu *gpu)
{
	gpu->hand_out = false;
	if (gpu->bounce_phase != BOUNCE_NONE)
		return;
	gpu->round++;
	while (!list_empty(&gpu->restoring)) {
		struct queue *queue = list_entry(gpu->restoring.next, struct queue, restoring);

		while (!list_empty(&queue->saved))
			if (!restore_first(gpu, queue))
				return;
		list_remove(&queue->restoring);
	}
	while (!list_empty(&gpu->waiting) && gpu->free > 0) {
		if (whole_rounds(gpu))
			continue;
		struct queue *queue = list_entry(gpu->waiting.next, struct queue, waiting);

		if (queue_packet(queue, queue->cp)->p.units > gpu->free)
			return;
		/* To the end of the turn first: launch() takes a queue that is
		 * through off the list. */
		list_remove(&queue->waiting);
		list_insert(&gpu->waiting, &queue->waiting);
		launch(gpu, queue, 1);
	}
}
