// SPDX-License-Identifier: MIT
/* Creates and frees the model of a GPU, and advances its time (gpu.h). */
#include <errno.h>
#include <stdlib.h>

#include "sim/gpu/gpu_priv.h"

/* ---- counters of how the time is spent ----
 * Counts how the time of the GPU is spent.
 *
 * The state of the model does not change while time passes. So when gpu_step() advances the time,
 * the whole span is added to the counter of the present state (enum gpu_time). The state consists
 * of counts of queues and clients, which times_queue() updates whenever a queue changes.
 *
 * Run time is divided among the clients whose work runs. It is collected in gpu.unshared_ns and
 * divided in whole ns before the set of these clients changes. A rest of less than one ns for each
 * client stays in gpu.unshared_ns. So the shares of all clients and this rest add up to
 * GPU_TIME_RUN.
 */

/* Returns the counter for time that passes in the present state, in which nothing runs. */
static enum gpu_time idle_as(const struct gpu *gpu)
{
	if (!gpu->clients_held)
		return GPU_TIME_IDLE;
	return gpu->clients_ready ? GPU_TIME_HELD_READY : GPU_TIME_HELD;
}

/* Counts the time up to `until` in a phase of a runlist update. Time before gpu.copy_from counts as
 * GPU_TIME_RUNLIST_UPDATE; time after it counts as `copy`, the save or restore of live state. */
static void pass_update(struct gpu *gpu, enum gpu_time copy, uint64_t until)
{
	uint64_t from = gpu->now > gpu->copy_from ? gpu->now : gpu->copy_from;

	if (until < from)
		from = until;
	gpu->times.ns[GPU_TIME_RUNLIST_UPDATE] += from - gpu->now;
	gpu->times.ns[copy] += until - from;
}

/* Advances gpu.now to `until`, and adds this span to the counter of the present state. */
static void times_pass(struct gpu *gpu, uint64_t until)
{
	enum gpu_time as = GPU_TIME_RUN;

	if (gpu->update_phase == UPDATE_UNMAP) {
		pass_update(gpu, GPU_TIME_SAVE, until);
	} else if (gpu->update_phase == UPDATE_MAP) {
		pass_update(gpu, GPU_TIME_RESTORE, until);
	} else {
		if (!gpu->queues_busy)
			as = gpu->switching ? GPU_TIME_RUNLIST_UPDATE : idle_as(gpu);
		gpu->times.ns[as] += until - gpu->now;
		if (as == GPU_TIME_RUN)
			gpu->unshared_ns += until - gpu->now;
	}
	gpu->now = until;
}

/* Divides gpu.unshared_ns, in whole ns, among the clients with running work (share_ns). */
static void share_out(struct gpu *gpu)
{
	uint64_t each = gpu->clients_busy ? gpu->unshared_ns / gpu->clients_busy : 0;

	if (!each)
		return;
	gpu->unshared_ns %= gpu->clients_busy;
	FOR_LIST (struct gpu_client, client, &gpu->clients, node)
		if (client->busy)
			client->share_ns += each;
}

/* Sets queue->busy, and updates the counts of busy queues and clients and the client's run time. */
static void set_busy(struct gpu *gpu, struct gpu_queue *queue, bool busy)
{
	struct gpu_client *client = queue->client;

	if (busy == queue->busy)
		return;
	queue->busy = busy;
	if (busy) {
		gpu->queues_busy++;
		if (client->busy == 0) {
			share_out(gpu);
			gpu->clients_busy++;
			client->busy_since = gpu->now;
		}
		client->busy++;
	} else {
		gpu->queues_busy--;
		if (client->busy == 1) {
			share_out(gpu);
			gpu->clients_busy--;
			client->run_ns += gpu->now - client->busy_since;
		}
		client->busy--;
	}
}

/* Sets queue->ready and queue->held_back, and updates the counts of clients. A client with work in
 * a suspended queue counts as held, even if it has other work. */
static void set_work(struct gpu *gpu, struct gpu_queue *queue, bool ready, bool held)
{
	struct gpu_client *client = queue->client;

	if (ready == queue->ready && held == queue->held_back)
		return;
	gpu->clients_held -= client->held > 0;
	gpu->clients_ready -= !client->held && client->ready > 0;
	client->ready += (uint32_t)ready - queue->ready;
	client->held += (uint32_t)held - queue->held_back;
	gpu->clients_held += client->held > 0;
	gpu->clients_ready += !client->held && client->ready > 0;
	queue->ready = ready;
	queue->held_back = held;
}

void times_queue(struct gpu *gpu, struct gpu_queue *queue)
{
	bool work = queue->head < queue->tail || queue->expected;

	set_busy(gpu, queue, queue->held > 0 || queue->working);
	set_work(gpu, queue, work && !queue->suspended, work && queue->suspended);
}

void times_queue_gone(struct gpu *gpu, struct gpu_queue *queue)
{
	set_busy(gpu, queue, false);
	set_work(gpu, queue, false, false);
}

int gpu_queue_expect(struct gpu *gpu, uint32_t id, bool more)
{
	struct gpu_queue *queue = queue_find(gpu, id);

	if (!queue)
		return -ENOENT;
	queue->expected = more;
	times_queue(gpu, queue);
	return 0;
}

void gpu_times(const struct gpu *gpu, struct gpu_times *out)
{
	*out = gpu->times;
}

struct gpu_client_run gpu_client_run(const struct gpu *gpu, uint64_t id)
{
	struct gpu_client_run run = {0};

	FOR_LIST (const struct gpu_client, client, &gpu->clients, node)
		if (client->id == id) {
			run = (struct gpu_client_run){client->run_ns, client->share_ns};
			if (client->busy) {
				run.ns += gpu->now - client->busy_since;
				run.share_ns += gpu->unshared_ns / gpu->clients_busy;
			}
		}
	return run;
}

/* ---- timers ----
 * Keeps the timers in a heap with four children per node, ordered by time and then by the order in
 * which the timers were set. The keys are stored in the heap itself, so that comparisons do not
 * access the timers. */

#define CHILDREN 4u

static bool before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->t != b->t ? a->t < b->t : a->seq < b->seq;
}

/* Stores an entry, and its position in its timer, so that the timer can be cancelled. */
static void put_entry(struct heap *heap, uint32_t pos, struct heap_entry entry)
{
	heap->entries[pos] = entry;
	entry.timer->pos = pos;
}

static void sift_up(struct heap *heap, uint32_t pos, struct heap_entry entry)
{
	while (pos > 0) {
		uint32_t parent = (pos - 1) / CHILDREN;

		if (!before(&entry, &heap->entries[parent]))
			break;
		put_entry(heap, pos, heap->entries[parent]);
		pos = parent;
	}
	put_entry(heap, pos, entry);
}

static void sift_down(struct heap *heap, uint32_t pos, struct heap_entry entry)
{
	for (;;) {
		uint32_t child = pos * CHILDREN + 1;

		if (child >= heap->n)
			break;
		uint32_t least = child;
		uint32_t end = child + CHILDREN < heap->n ? child + CHILDREN : heap->n;

		while (++child < end)
			if (before(&heap->entries[child], &heap->entries[least]))
				least = child;
		if (!before(&heap->entries[least], &entry))
			break;
		put_entry(heap, pos, heap->entries[least]);
		pos = least;
	}
	put_entry(heap, pos, entry);
}

int heap_reserve(struct heap *heap, size_t capacity)
{
	if (capacity <= heap->capacity)
		return 0;
	if (capacity >= TIMER_IDLE / 2)
		return -ENOMEM;
	if (capacity < 2 * (size_t)heap->capacity)
		capacity = 2 * (size_t)heap->capacity;
	struct heap_entry *entries = reallocarray(heap->entries, capacity, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	heap->entries = entries;
	heap->capacity = (uint32_t)capacity;
	return 0;
}

void heap_push(struct heap *heap, struct gpu_timer *timer, uint64_t t)
{
	sift_up(heap, heap->n++, (struct heap_entry){.t = t, .seq = heap->seq++, .timer = timer});
}

void heap_cancel(struct heap *heap, struct gpu_timer *timer)
{
	uint32_t pos = timer->pos;

	if (pos == TIMER_IDLE)
		return;
	timer->pos = TIMER_IDLE;
	struct heap_entry last = heap->entries[--heap->n];

	if (pos == heap->n)
		return;
	if (pos > 0 && before(&last, &heap->entries[(pos - 1) / CHILDREN]))
		sift_up(heap, pos, last);
	else
		sift_down(heap, pos, last);
}

/* Removes and returns the first timer: the earliest, and among equal times the one that was set
 * first. The heap must not be empty. */
static struct gpu_timer *heap_pop(struct heap *heap)
{
	struct gpu_timer *timer = heap->entries[0].timer;

	heap_cancel(heap, timer);
	return timer;
}

struct gpu *gpu_new(const struct gpu_config *config)
{
	if (config->xccs == 0 || config->xccs > XCCS_MAX || config->cus == 0 ||
	    config->cus % config->xccs || config->cus / config->xccs > CUS_XCC_MAX ||
	    config->wave_slots_per_cu == 0 || config->wave_slots_per_cu > WAVE_SLOTS_CU_MAX ||
	    config->save_bytes_us == 0 || config->restore_bytes_us == 0 ||
	    config->sdma_engines == 0 || config->sdma_engines > ENGINES_MAX ||
	    config->xgmi_engines > ENGINES_MAX || (config->vmids && !config->process_quantum_ns) ||
	    (config->cp_queues && !config->queue_quantum_ns))
		return NULL;
	struct gpu *gpu = calloc(1, sizeof(*gpu));

	if (!gpu)
		return NULL;
	gpu->config = *config;
	gpu->wave_slots = gpu->free = config->cus * config->wave_slots_per_cu;
	gpu->update_timer = (struct gpu_timer){.kind = TIMER_UPDATE, .pos = TIMER_IDLE};
	gpu->slice_timer = (struct gpu_timer){.kind = TIMER_SLICE, .pos = TIMER_IDLE};
	list_init(&gpu->clients);
	list_init(&gpu->kicked);
	list_init(&gpu->begins);
	list_init(&gpu->spare_cohorts);
	list_init(&gpu->spare_parts);
	list_init(&gpu->resident);
	for (uint32_t x = 0; x < config->xccs; x++)
		xcc_init(&gpu->xccs[x], config->cus / config->xccs, config->wave_slots_per_cu);
	gpu->n_engines = config->sdma_engines + config->xgmi_engines;
	gpu->engines = calloc(gpu->n_engines, sizeof(*gpu->engines));
	if (!gpu->engines || queue_reserve_timers(gpu)) {
		gpu_free(gpu);
		return NULL;
	}
	for (uint32_t i = 0; i < gpu->n_engines; i++)
		list_init(&gpu->engines[i].queues);
	for (uint32_t i = 0; i < GPU_LINKS_MAX; i++) {
		list_init(&gpu->links[i].copies);
		gpu->links[i].bytes_us = config->link_bytes_us[i];
	}
	return gpu;
}

void gpu_free(struct gpu *gpu)
{
	if (!gpu)
		return;
	FOR_QUEUES (gpu, queue)
		queue_free(gpu, queue);
	while (gpu->updates) {
		struct gpu_update *next = gpu->updates->next;

		free(gpu->updates);
		gpu->updates = next;
	}
	cohorts_free(gpu);
	free(gpu->queues);
	free(gpu->engines);
	free(gpu->heap.entries);
	free(gpu);
}

uint64_t gpu_now(const struct gpu *gpu)
{
	return gpu->now;
}

uint64_t gpu_live_wave_slots(const struct gpu *gpu)
{
	return gpu->wave_slots - gpu->free;
}

/* Returns true if the first timer is due. The timer of a cohort (workgroups that end together) may
 * also fire early, while free wave slots have to be assigned (cohort_may_end()). */
static bool is_due(const struct gpu *gpu)
{
	const struct heap_entry *first = gpu->heap.entries;

	if (gpu->heap.n == 0 || first->t == gpu->now)
		return gpu->heap.n > 0;
	return gpu->hand_out && first->timer->kind == TIMER_COHORT &&
	       cohort_may_end(list_entry(first->timer, struct cohort, timer), first->t - gpu->now);
}

/* Fires the first timer. Returns true if *event was filled. */
static bool fire(struct gpu *gpu, struct gpu_event *event)
{
	uint64_t early = gpu->heap.entries[0].t - gpu->now;
	struct gpu_timer *timer = heap_pop(&gpu->heap);

	switch (timer->kind) {
	case TIMER_COHORT:
		return cohort_ended(gpu, list_entry(timer, struct cohort, timer), early, event);
	case TIMER_CP:
		cp_timer_fired(gpu, list_entry(timer, struct gpu_queue, cp_timer));
		return false;
	case TIMER_UPDATE:
		update_timer_fired(gpu, event);
		return true;
	case TIMER_SLICE:
		return slice_timer_fired(gpu, event);
	}
	return false;
}

bool gpu_step(struct gpu *gpu, uint64_t until, struct gpu_event *event)
{
	if (until < gpu->now)
		return false;
	for (;;) {
		const struct heap_entry *due = gpu->heap.n > 0 ? &gpu->heap.entries[0] : NULL;

		if (!list_empty(&gpu->resident)) {
			cohort_emit(gpu, event);
			return true;
		}
		if (gpu->losing && cp_emit_lost(gpu, event))
			return true;
		if (!list_empty(&gpu->kicked)) {
			struct gpu_queue *queue =
				list_entry(gpu->kicked.next, struct gpu_queue, kicked);

			if (cp_advance(gpu, queue, event))
				return true;
			list_remove(&queue->kicked);
		} else if (is_due(gpu)) {
			if (fire(gpu, event))
				return true;
		} else if (gpu->fill_slots) {
			runlist_schedule(gpu);
		} else if (gpu->hand_out) {
			dispatch_hand_out(gpu);
		} else if (due && due->t <= until) {
			times_pass(gpu, due->t);
		} else {
			times_pass(gpu, until);
			return false;
		}
	}
}

uint64_t gpu_next(const struct gpu *gpu)
{
	if (!list_empty(&gpu->resident) || !list_empty(&gpu->kicked) || gpu->hand_out ||
	    gpu->losing || gpu->fill_slots)
		return gpu->now;
	return gpu->heap.n > 0 ? gpu->heap.entries[0].t : UINT64_MAX;
}
