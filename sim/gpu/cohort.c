// SPDX-License-Identifier: MIT
/*
 * Manages cohorts, which are groups of workgroups of a dispatch that run together: launch, save,
 * restore and end.
 *
 * Each part of a cohort is on one XCC. Cohorts that the same runlist update saves and restores
 * return to the CUs that they were on, which have room because the cohorts ran side by side before.
 * Any other restored cohort (its queue was off in between, or the CU mask changed) is split into
 * its parts, which wait at their XCCs for wave slots of any CU.
 *
 * If queues share the GPU, their workgroups get out of step, and soon each workgroup would be a
 * cohort of its own. To prevent this, a cohort that is about to end is ended early if a hand-out
 * (gpu_priv.h) assigns free wave slots at that instant anyway. Workgroups that end together are
 * replaced by workgroups that begin together. The run time that a queue's workgroups lose in this
 * way is added to the workgroups that the queue launches next, so that the differences do not add
 * up. The workgroups of a dispatch that begin last or end last keep their exact time, because the
 * next packet and the host wait for them.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/gpu/gpu_priv.h"

/* Two limits of the time by which a cohort (workgroups that run together) may end early. EARLY_NS
 * is half of the time that a doorbell takes (1 us), which is little beside a request of 1 ms or
 * more. The other limit is 1/EARLY_PART of the run time of the cohort's workgroups. */
#define EARLY_NS 500u
#define EARLY_PART 4u

#define CHUNK_MIN 256u
/* Number of cohorts that exist in addition to the reserved ones. One is needed because a saved
 * cohort and its twin (the cohort of its restored parts) both exist while the last part moves to
 * the twin. The other one is a cohort that has ended and is not reported yet. */
#define SLACK 2u

/* Moves the next unused pair (cohort and part) of the newest chunk to the lists spare_cohorts and
 * spare_parts. */
static void unpack_pair(struct gpu *gpu)
{
	assert(gpu->fresh_pairs > 0); /* gpu_submit() has reserved it */
	gpu->fresh_pairs--;
	list_insert(&gpu->spare_cohorts, &gpu->chunks->pairs[gpu->fresh_pairs].cohort.node);
	list_insert(&gpu->spare_parts, &gpu->chunks->pairs[gpu->fresh_pairs].part.node);
}

int cohorts_reserve(struct gpu *gpu, uint64_t more)
{
	uint64_t want = gpu->reserved + more;

	if (want + SLACK > gpu->cohorts) {
		uint64_t n = want + SLACK - gpu->cohorts;

		n = n > gpu->cohorts ? n : gpu->cohorts;
		n = n > CHUNK_MIN ? n : CHUNK_MIN;
		struct chunk *chunk = malloc(sizeof(*chunk) + n * sizeof(chunk->pairs[0]));

		if (!chunk)
			return -ENOMEM;
		/* A pair is one cohort and one part. Move the unused pairs of the previous chunk to
		 * the lists spare_cohorts and spare_parts. The pairs of the new chunk are written
		 * only when they are needed, so that their memory is not touched before. */
		while (gpu->fresh_pairs > 0)
			unpack_pair(gpu);
		chunk->next = gpu->chunks;
		gpu->chunks = chunk;
		gpu->fresh_pairs = n;
		gpu->cohorts += n;
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

static struct part *part_take(struct gpu *gpu)
{
	if (list_empty(&gpu->spare_parts))
		unpack_pair(gpu);
	struct part *part = list_entry(gpu->spare_parts.next, struct part, node);

	list_remove(&part->node);
	return part;
}

/* Puts a part at the front of gpu.spare_parts, because the part used last is still in the cache. */
static void part_put(struct gpu *gpu, struct part *part)
{
	list_remove(&part->node);
	list_insert(gpu->spare_parts.next, &part->node);
}

static void cohort_put(struct gpu *gpu, struct cohort *cohort)
{
	list_move_front(&gpu->spare_parts, &cohort->parts);
	list_remove(&cohort->node);
	list_insert(gpu->spare_cohorts.next, &cohort->node);
}

static uint32_t wg_wave_slots(const struct cohort *cohort)
{
	return queue_packet(cohort->queue, cohort->packet)->p.wave_slots;
}

/* hold() counts wave slots that the queue gets, let_go() those that it gives back, both for the
 * queue and for the GPU. The counters of the XCC are left to the callers. */
static void hold(struct gpu *gpu, struct gpu_queue *queue, uint32_t wave_slots)
{
	queue_account(gpu, queue);
	queue->held += wave_slots;
	gpu->free -= wave_slots;
	times_queue(gpu, queue);
}

static void let_go(struct gpu *gpu, struct gpu_queue *queue, uint32_t wave_slots)
{
	queue_account(gpu, queue);
	queue->held -= wave_slots;
	gpu->free += wave_slots;
	times_queue(gpu, queue);
	gpu->hand_out = true;
}

/* Gives the wave slots of all parts back to their XCCs. */
static void give_back(struct gpu *gpu, const struct cohort *cohort)
{
	uint32_t wave_slots = wg_wave_slots(cohort);

	FOR_LIST (const struct part, part, &cohort->parts, node) {
		struct xcc *xcc = &gpu->xccs[part->xcc];

		xcc_give(xcc, part->cus, part->layers * wave_slots);
		xcc->hand_out = true;
	}
}

/* Returns the maximum ns by which the cohort (workgroups that end together) may end early. */
static uint64_t most_early(const struct cohort *cohort)
{
	uint64_t part = queue_packet(cohort->queue, cohort->packet)->p.wg_ns / EARLY_PART;

	return part < EARLY_NS ? part : EARLY_NS;
}

bool cohort_may_end(const struct cohort *cohort, uint64_t early)
{
	const struct gpu_queue *queue = cohort->queue;
	const struct packet_run *packet = queue_packet(queue, cohort->packet);
	uint64_t most = most_early(cohort), wave_slots = cohort->count * packet->p.wave_slots;

	/* A queue can make up for at most `most` ns of lost run time for each wave slot that it
	 * holds. Beyond this limit the cohort does not end early. */
	return early <= most && packet->ended + cohort->count < packet->p.wgs &&
	       queue->shortfall + (int64_t)(wave_slots * early) <= (int64_t)(queue->held * most);
}

void cohort_begin(struct gpu *gpu, struct cohort *cohort)
{
	struct gpu_queue *queue = cohort->queue;
	const struct gpu_packet *p = &queue_packet(queue, cohort->packet)->p;
	uint64_t most = most_early(cohort), wave_slots = cohort->count * p->wave_slots;

	if (queue->shortfall > 0 && queue->cp == cohort->packet) {
		uint64_t share = (uint64_t)queue->shortfall / wave_slots;

		cohort->longer = share < most ? share : most;
		queue->shortfall -= (int64_t)(cohort->longer * wave_slots);
	}
	heap_push(&gpu->heap, &cohort->timer,
		  time_add(gpu->now, time_add(p->wg_ns, cohort->longer)));
}

struct cohort *cohort_new(struct gpu *gpu, struct gpu_queue *queue, uint64_t packet)
{
	if (list_empty(&gpu->spare_cohorts))
		unpack_pair(gpu);
	struct cohort *cohort = list_entry(gpu->spare_cohorts.next, struct cohort, node);

	list_remove(&cohort->node);
	cohort->timer = (struct gpu_timer){.kind = TIMER_COHORT, .pos = TIMER_IDLE};
	cohort->queue = queue;
	cohort->packet = packet;
	list_init(&cohort->parts);
	cohort->count = cohort->back = 0;
	cohort->longer = 0;
	cohort->twin_round = 0;
	list_insert(&queue->running, &cohort->node);
	return cohort;
}

void cohort_extend(struct gpu *gpu, struct cohort *cohort, const struct part *part)
{
	hold(gpu, cohort->queue, part->count * wg_wave_slots(cohort));
	cohort->count += part->count;
	if (!list_empty(&cohort->parts)) {
		struct part *last = list_entry(cohort->parts.prev, struct part, node);

		if (last->xcc == part->xcc && last->row + last->count == part->row &&
		    cus_equal(last->cus, part->cus)) {
			last->layers += part->layers;
			last->count += part->count;
			return;
		}
	}
	struct part *own = part_take(gpu);

	*own = *part;
	own->cohort = cohort;
	list_insert(&cohort->parts, &own->node);
}

/* Returns the number that the part's i-th workgroup has within the dispatch. */
static uint32_t workgroup(const struct gpu *gpu, const struct part *part, uint32_t i)
{
	return (part->row + i) * gpu->config.xccs + part->xcc;
}

/* Reports all workgroups of the cohort in one event if their numbers form one range without a gap.
 * Otherwise reports those of one part (on one XCC) at each call. */
void cohort_emit(struct gpu *gpu, struct gpu_event *event)
{
	struct cohort *cohort = list_entry(gpu->resident.next, struct cohort, node);
	const struct gpu_queue *queue = cohort->queue;
	struct part *part = list_entry(cohort->parts.next, struct part, node);

	*event = (struct gpu_event){
		.type = GPU_EVENT_WORKGROUPS,
		.t = gpu->now,
		.queue = queue->id,
		.tag = queue_packet(queue, cohort->packet)->p.tag,
		.first = workgroup(gpu, part, 0),
		.count = part->count,
		.stride = gpu->config.xccs,
	};
	if (cohort->count > 0) {
		uint32_t least = UINT32_MAX, most = 0;

		FOR_LIST (const struct part, one, &cohort->parts, node) {
			uint32_t first = workgroup(gpu, one, 0);
			uint32_t last = workgroup(gpu, one, one->count - 1);

			least = first < least ? first : least;
			most = last > most ? last : most;
		}
		if (most - least + 1 == cohort->count) {
			event->first = least;
			event->count = cohort->count;
			event->stride = 1;
			cohort_put(gpu, cohort);
			return;
		}
		cohort->count = 0; /* report part by part from here on */
	}
	for (;;) {
		struct part *next = list_entry(part->node.next, struct part, node);
		bool last = part->node.next == &cohort->parts;
		bool joins =
			!last && next->xcc == part->xcc && next->row == part->row + part->count;

		part_put(gpu, part);
		if (!joins)
			break;
		part = next;
		event->count += part->count;
	}
	if (list_empty(&cohort->parts))
		cohort_put(gpu, cohort);
}

bool cohort_ended(struct gpu *gpu, struct cohort *cohort, uint64_t early, struct gpu_event *event)
{
	struct gpu_queue *queue = cohort->queue;
	struct packet_run *packet = queue_packet(queue, cohort->packet);
	uint32_t wave_slots = cohort->count * packet->p.wave_slots;

	queue->shortfall += (int64_t)(wave_slots * early);
	queue->stats.wave_slot_ns += wave_slots * (early - cohort->longer);
	let_go(gpu, queue, wave_slots);
	give_back(gpu, cohort);
	packet->ended += cohort->count;
	queue->stats.wgs_done += cohort->count;
	if (packet->ended == packet->p.wgs) {
		packet->complete = true;
		cp_kick(gpu, queue);
	}
	if (!packet->p.trace) {
		cohort_put(gpu, cohort);
		return false;
	}
	list_remove(&cohort->node);
	list_insert(&gpu->resident, &cohort->node);
	cohort_emit(gpu, event);
	return true;
}

bool queue_save(struct gpu *gpu, struct gpu_queue *queue)
{
	if (list_empty(&queue->running))
		return false;
	FOR_LIST (struct cohort, cohort, &queue->running, node) {
		cohort->remain = gpu->heap.entries[cohort->timer.pos].t - gpu->now;
		cohort->saved_by = gpu->update_count;
		heap_cancel(&gpu->heap, &cohort->timer);
		give_back(gpu, cohort);
	}
	queue->saved_wave_slots += queue->held;
	let_go(gpu, queue, (uint32_t)queue->held);
	/* Cohorts that were running are restored before those that are saved already. */
	list_move_front(&queue->saved, &queue->running);
	return true;
}

/* Restarts the workgroups of a saved cohort on the CUs that they were on before the save. */
static void run_again(struct gpu *gpu, struct cohort *cohort)
{
	struct gpu_queue *queue = cohort->queue;
	uint32_t wave_slots = wg_wave_slots(cohort);

	FOR_LIST (const struct part, part, &cohort->parts, node)
		xcc_hold(&gpu->xccs[part->xcc], part->cus, part->layers * wave_slots);
	hold(gpu, queue, cohort->count * wave_slots);
	queue->saved_wave_slots -= cohort->count * wave_slots;
	list_remove(&cohort->node);
	list_insert(&queue->running, &cohort->node);
	heap_push(&gpu->heap, &cohort->timer, time_add(gpu->now, cohort->remain));
}

/* Moves each part of the cohort (its workgroups on one XCC) to the list seats[xcc].back of the
 * queue, where the part waits for wave slots of that XCC. */
static void take_apart(struct cohort *cohort)
{
	struct gpu_queue *queue = cohort->queue;

	list_remove(&cohort->node);
	while (!list_empty(&cohort->parts)) {
		struct part *part = list_entry(cohort->parts.next, struct part, node);

		list_remove(&part->node);
		list_insert(&queue->seats[part->xcc].back, &part->node);
		cohort->back++;
	}
}

void queue_restore(struct gpu *gpu, struct gpu_queue *queue, bool exact)
{
	while (!list_empty(&queue->saved)) {
		struct cohort *cohort = list_entry(queue->saved.next, struct cohort, node);

		if (exact && cohort->saved_by == gpu->update_count && !queue->moved)
			run_again(gpu, cohort);
		else
			take_apart(cohort);
	}
	queue->moved = false;
	for (uint32_t x = 0; x < gpu->config.xccs; x++) {
		struct seat *seat = &queue->seats[x];

		if (list_empty(&seat->back))
			continue;
		list_insert(&gpu->xccs[x].restoring, &seat->restoring);
		gpu->xccs[x].hand_out = gpu->hand_out = true;
	}
}

/* Frees a part whose workgroups all run again, and its cohort after the last part. */
static void part_left(struct gpu *gpu, struct part *part)
{
	struct cohort *origin = part->cohort;

	part_put(gpu, part);
	if (--origin->back == 0)
		cohort_put(gpu, origin);
}

bool part_restore(struct gpu *gpu, struct gpu_queue *queue, struct part *part, struct cus open)
{
	struct cohort *origin = part->cohort;
	uint32_t wave_slots = wg_wave_slots(origin);
	struct part placed = {.xcc = part->xcc, .row = part->row};

	for (;;) {
		placed.count = xcc_take(&gpu->xccs[part->xcc], open, wave_slots, part->count,
					&placed.cus, &placed.layers);
		if (placed.count == 0)
			return false;
		if (origin->twin_round != gpu->round) {
			origin->twin = cohort_new(gpu, queue, origin->packet);
			origin->twin->longer = origin->longer;
			heap_push(&gpu->heap, &origin->twin->timer,
				  time_add(gpu->now, origin->remain));
			origin->twin_round = gpu->round;
		}
		queue->saved_wave_slots -= placed.count * wave_slots;
		part->row += placed.count;
		part->count -= placed.count;
		if (part->count == 0) {
			struct cohort *twin = origin->twin;

			part_left(gpu, part);
			cohort_extend(gpu, twin, &placed);
			return true;
		}
		cohort_extend(gpu, origin->twin, &placed);
		placed.row = part->row;
	}
}

void queue_drop_cohorts(struct gpu *gpu, struct gpu_queue *queue)
{
	struct list *node, *next;

	for (node = gpu->resident.next; node != &gpu->resident; node = next) {
		next = node->next;
		if (list_entry(node, struct cohort, node)->queue == queue)
			cohort_put(gpu, list_entry(node, struct cohort, node));
	}
	while (!list_empty(&queue->running)) {
		struct cohort *cohort = list_entry(queue->running.next, struct cohort, node);

		heap_cancel(&gpu->heap, &cohort->timer);
		give_back(gpu, cohort);
		cohort_put(gpu, cohort);
	}
	while (!list_empty(&queue->saved))
		cohort_put(gpu, list_entry(queue->saved.next, struct cohort, node));
	for (uint32_t x = 0; x < gpu->config.xccs; x++) {
		struct list *back = &queue->seats[x].back;

		while (!list_empty(back))
			part_left(gpu, list_entry(back->next, struct part, node));
	}
	queue->saved_wave_slots = 0;
	let_go(gpu, queue, (uint32_t)queue->held);
}
