// SPDX-License-Identifier: MIT
/* Queues and their packets. */
#include <errno.h>
#include <stdlib.h>

#include "sim/gpu/gpu_priv.h"

#define RING_MIN 16u

struct gpu_queue *queue_find(const struct gpu *gpu, uint32_t id)
{
	return id < gpu->n_ids ? gpu->queues[id] : NULL;
}

/* Adds the time since queue->accounted_at to the counters in *stats. */
static void stats_until(struct gpu_queue_stats *stats, const struct gpu *gpu,
			const struct gpu_queue *queue)
{
	uint64_t span = gpu->now - queue->accounted_at;
	bool copies = queue->working && queue->engine;

	stats->wave_slot_ns += (queue->held + copies) * span;
	if (queue->held > 0 || queue->working)
		stats->busy_ns += span;
}

void queue_account(struct gpu *gpu, struct gpu_queue *queue)
{
	if (queue->accounted_at == gpu->now)
		return;
	stats_until(&queue->stats, gpu, queue);
	queue->accounted_at = gpu->now;
}

/* Reserves room for all timers that can be set at once: one for each running cohort (which holds at
 * least one wave slot), one for each queue, one for runlist updates and one for slices. */
int queue_reserve_timers(struct gpu *gpu)
{
	return heap_reserve(&gpu->heap, (size_t)gpu->wave_slots + gpu->n_queues + 2);
}

/* Returns the engine with the requested number. If the queue takes any engine (GPU_ENGINE_ANY),
 * returns the engine of its kind with the fewest queues. Returns NULL if there is no such
 * engine. */
static struct engine *choose_engine(struct gpu *gpu, const struct gpu_queue_config *config)
{
	bool xgmi = config->kind == GPU_QUEUE_XGMI;
	uint32_t first = xgmi ? gpu->config.sdma_engines : 0;
	uint32_t end = xgmi ? gpu->n_engines : gpu->config.sdma_engines;
	struct engine *best = NULL;

	if (config->engine != GPU_ENGINE_ANY)
		return config->engine < gpu->n_engines ? &gpu->engines[config->engine] : NULL;
	for (uint32_t i = first; i < end; i++)
		if (!best || gpu->engines[i].n < best->n)
			best = &gpu->engines[i];
	return best;
}

/* Returns the lowest free id in gpu->queues, which grows if necessary, or -ENOMEM. */
static int64_t free_id(struct gpu *gpu)
{
	for (uint32_t i = 0; gpu->n_queues < gpu->n_ids && i < gpu->n_ids; i++)
		if (!gpu->queues[i])
			return i;
	uint32_t n = gpu->n_ids ? 2 * gpu->n_ids : 16;

	if (n > INT32_MAX)
		return -ENOMEM;
	struct gpu_queue **queues = reallocarray(gpu->queues, n, sizeof(*queues));

	if (!queues)
		return -ENOMEM;
	gpu->queues = queues;
	for (uint32_t i = gpu->n_ids; i < n; i++)
		queues[i] = NULL;
	uint32_t id = gpu->n_ids;

	gpu->n_ids = n;
	return id;
}

/* Returns the priority class (0 low, 1 medium, 2 high) as in the driver's pipe_priority_map. */
static uint32_t class_of(uint32_t priority)
{
	return priority >= 11 ? 2 : priority >= 7 ? 1 : 0;
}

static void seat_init(struct seat *seat, struct gpu_queue *queue, struct cus open)
{
	list_init(&seat->waiting);
	list_init(&seat->restoring);
	list_init(&seat->back);
	seat->queue = queue;
	seat->open = open;
}

int gpu_queue_add(struct gpu *gpu, const struct gpu_queue_config *config)
{
	struct engine *engine = NULL;

	if (config->kind == GPU_QUEUE_SDMA || config->kind == GPU_QUEUE_XGMI)
		engine = choose_engine(gpu, config);
	if (config->kind != GPU_QUEUE_COMPUTE && !engine)
		return -EINVAL;
	int64_t id = free_id(gpu);

	if (id < 0)
		return (int)id;
	struct gpu_queue *queue =
		calloc(1, sizeof(*queue) + gpu->config.xccs * sizeof(queue->seats[0]));

	if (!queue)
		return -ENOMEM;
	queue->ring_size = RING_MIN;
	queue->ring = calloc(RING_MIN, sizeof(*queue->ring));
	gpu->n_queues++;
	if (!queue->ring || queue_reserve_timers(gpu) || client_join(gpu, queue, config->client)) {
		gpu->n_queues--;
		queue_free(gpu, queue);
		return -ENOMEM;
	}
	queue->id = (uint32_t)id;
	queue->kind = config->kind;
	queue->class = queue->wanted_class = class_of(GPU_PRIORITY_NORMAL);
	queue->cp_timer = (struct gpu_timer){.kind = TIMER_CP, .pos = TIMER_IDLE};
	list_init(&queue->on_engine);
	list_init(&queue->kicked);
	list_init(&queue->begins);
	list_init(&queue->running);
	list_init(&queue->saved);
	for (uint32_t x = 0; x < gpu->config.xccs; x++)
		seat_init(&queue->seats[x], queue, gpu->xccs[x].all);
	list_init(&queue->on_link);
	if (engine) {
		queue->engine = engine;
		queue->engine->n++;
		list_insert(&queue->engine->queues, &queue->on_engine);
	}
	gpu->queues[id] = queue;
	return (int)id;
}

void queue_stop(struct gpu *gpu, struct gpu_queue *queue)
{
	cp_stop(gpu, queue);
	for (uint32_t x = 0; x < gpu->config.xccs; x++)
		list_remove(&queue->seats[x].restoring);
	if (queue_save(gpu, queue))
		queue->stats.preempted++;
}

void queue_set_on(struct gpu *gpu, struct gpu_queue *queue, bool on)
{
	if (queue->on == on)
		return;
	queue->on = on;
	if (queue->phase != CP_LAUNCH)
		return;
	if (on)
		dispatch_wait(gpu, queue);
	else
		dispatch_unwait(gpu, queue);
}

void queue_free(struct gpu *gpu, struct gpu_queue *queue)
{
	if (queue->client)
		client_leave(gpu, queue);
	free(queue->wanted_open);
	free(queue->ring);
	free(queue);
}

uint64_t gpu_queue_saved_wave_slots(const struct gpu *gpu, uint32_t id)
{
	const struct gpu_queue *queue = queue_find(gpu, id);

	return queue ? queue->saved_wave_slots : 0;
}

uint64_t gpu_queue_wave_slots(const struct gpu *gpu, uint32_t id)
{
	const struct gpu_queue *queue = queue_find(gpu, id);

	return queue ? queue->held : 0;
}

int gpu_queue_set_priority(struct gpu *gpu, uint32_t id, uint32_t priority)
{
	struct gpu_queue *queue = queue_find(gpu, id);

	if (!queue)
		return -ENOENT;
	if (priority > GPU_PRIORITY_MAX)
		return -EINVAL;
	queue->wanted_class = class_of(priority);
	return 0;
}

int gpu_queue_set_cu_mask(struct gpu *gpu, uint32_t id, const uint32_t *bits, uint32_t n_bits)
{
	struct gpu_queue *queue = queue_find(gpu, id);
	uint32_t xccs = gpu->config.xccs;

	if (!queue)
		return -ENOENT;
	if (n_bits > 0 && !bits)
		return -EINVAL;
	if (!queue->wanted_open)
		queue->wanted_open = calloc(xccs, sizeof(*queue->wanted_open));
	if (!queue->wanted_open)
		return -ENOMEM;
	for (uint32_t x = 0; x < xccs; x++)
		queue->wanted_open[x] = n_bits ? (struct cus){{0, 0}} : gpu->xccs[x].all;
	for (uint32_t i = 0; i < n_bits && i < gpu->config.cus; i++)
		if (bits[i / 32] >> (i % 32) & 1)
			queue->wanted_open[i % xccs].w[i / xccs / 64] |= UINT64_C(1)
									 << (i / xccs % 64);
	return 0;
}

/* Returns how many cohorts the queue can have at once if the needs of its packets add up to `sum`.
 * The limit is the number of the queue's smallest workgroups that fit on the GPU: while the queue
 * has saved state it launches nothing new, so it never has more workgroups than fit. */
static uint64_t reserve_capped(const struct gpu_queue *queue, uint64_t sum)
{
	return sum < queue->reserve_cap ? sum : queue->reserve_cap;
}

/* Returns how many workgroups that hold `wave_slots` slots each fit on the whole GPU. */
static uint64_t fit_on_gpu(const struct gpu *gpu, uint32_t wave_slots)
{
	return (uint64_t)gpu->config.cus * (gpu->config.wave_slots_per_cu / wave_slots);
}

/* Returns how many cohorts (workgroups that run together) the packet can have at most. */
static uint64_t packet_need(const struct gpu *gpu, const struct gpu_packet *packet)
{
	if (packet->kind != GPU_PACKET_DISPATCH)
		return 0;
	uint64_t fit = fit_on_gpu(gpu, packet->wave_slots);

	return packet->wgs < fit ? packet->wgs : fit;
}

void queue_unreserve(struct gpu *gpu, struct gpu_queue *queue, const struct gpu_packet *packet)
{
	uint64_t before = reserve_capped(queue, queue->reserve_sum);

	queue->reserve_sum -= packet_need(gpu, packet);
	gpu->reserved -= before - reserve_capped(queue, queue->reserve_sum);
}

int gpu_queue_remove(struct gpu *gpu, uint32_t id)
{
	struct gpu_queue *queue = queue_find(gpu, id);

	if (!queue)
		return -ENOENT;
	queue_drop_cohorts(gpu, queue);
	if (queue->phase == CP_COPY)
		link_stop(gpu, queue);
	heap_cancel(&gpu->heap, &queue->cp_timer);
	list_remove(&queue->kicked);
	for (uint32_t x = 0; x < gpu->config.xccs; x++) {
		list_remove(&queue->seats[x].waiting);
		list_remove(&queue->seats[x].restoring);
	}
	cp_forget(gpu, queue);
	update_forget(gpu, id);
	gpu->reserved -= reserve_capped(queue, queue->reserve_sum);
	times_queue_gone(gpu, queue);
	gpu->n_queues--;
	gpu->queues[id] = NULL;
	queue_free(gpu, queue);
	gpu->fill_slots = gpu->slicing;
	return 0;
}

int gpu_queue_stats(const struct gpu *gpu, uint32_t id, struct gpu_queue_stats *out)
{
	const struct gpu_queue *queue = queue_find(gpu, id);

	if (!queue)
		return -ENOENT;
	*out = queue->stats;
	stats_until(out, gpu, queue);
	return 0;
}

bool gpu_queue_mapped(const struct gpu *gpu, uint32_t id)
{
	const struct gpu_queue *queue = queue_find(gpu, id);

	return queue && queue->mapped;
}

size_t gpu_queue_depth(const struct gpu *gpu, uint32_t id)
{
	const struct gpu_queue *queue = queue_find(gpu, id);

	return queue ? queue->tail - queue->head : 0;
}

static bool packet_valid(const struct gpu *gpu, const struct gpu_queue *queue,
			 const struct gpu_packet *packet)
{
	switch (packet->kind) {
	case GPU_PACKET_DISPATCH:
		return queue->kind == GPU_QUEUE_COMPUTE && packet->wgs > 0 &&
		       packet->wave_slots > 0 &&
		       packet->wave_slots <= gpu->config.wave_slots_per_cu;
	case GPU_PACKET_COPY:
		return queue->engine && packet->link < GPU_LINKS_MAX &&
		       gpu->links[packet->link].bytes_us > 0;
	case GPU_PACKET_WORK:
	case GPU_PACKET_WAIT:
		return true;
	}
	return false;
}

/* Doubles the ring and keeps packet i at index i modulo the new size. */
static int ring_grow(struct gpu_queue *queue)
{
	uint64_t size = 2 * queue->ring_size;
	struct packet_run *ring = calloc(size, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (uint64_t i = queue->head; i < queue->tail; i++)
		ring[i & (size - 1)] = *queue_packet(queue, i);
	free(queue->ring);
	queue->ring = ring;
	queue->ring_size = size;
	return 0;
}

int gpu_submit(struct gpu *gpu, uint32_t id, const struct gpu_packet *packet)
{
	struct gpu_queue *queue = queue_find(gpu, id);

	if (!queue)
		return -ENOENT;
	if (!packet_valid(gpu, queue, packet))
		return -EINVAL;
	if (queue->tail - queue->head >= QUEUE_PACKETS_MAX)
		return -EAGAIN;
	if (queue->tail - queue->head == queue->ring_size && ring_grow(queue))
		return -ENOMEM;
	uint64_t sum = queue->reserve_sum + packet_need(gpu, packet);
	uint64_t before = reserve_capped(queue, queue->reserve_sum);

	uint64_t cap = queue->reserve_cap;

	if (packet->kind == GPU_PACKET_DISPATCH && fit_on_gpu(gpu, packet->wave_slots) > cap)
		cap = fit_on_gpu(gpu, packet->wave_slots);
	if (cohorts_reserve(gpu, (sum < cap ? sum : cap) - before))
		return -ENOMEM;
	queue->reserve_cap = cap;
	queue->reserve_sum = sum;
	*queue_packet(queue, queue->tail++) = (struct packet_run){.p = *packet};
	queue->expected = false;
	times_queue(gpu, queue);
	if (queue->cp + 1 == queue->tail)
		cp_kick(gpu, queue);
	gpu->fill_slots |= gpu->slicing && !queue->on;
	return 0;
}

int gpu_release(struct gpu *gpu, uint32_t id)
{
	struct gpu_queue *queue = queue_find(gpu, id);

	if (!queue)
		return -ENOENT;
	if (queue->phase != CP_WAIT)
		return -EINVAL;
	queue->released = true;
	cp_kick(gpu, queue);
	return 0;
}
