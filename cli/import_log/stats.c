// SPDX-License-Identifier: MIT
/*
 * Adds up the lines of a HIP log.
 *
 * A log names a queue by up to three addresses: its hsa_queue_t, its ring, and one ("HWq") that is
 * either of the two, depending on the version of HIP. The map of queues leads from each address to
 * the queue. Whenever a line has two addresses of a queue, the queue is known by both from then on.
 */
#include "cli/import_log/stats.h"

#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"

#define NONE UINT32_MAX
#define NOWHERE (UINT32_MAX - 1) /* index of a queue for which the table had no room */

/* A hash map from two numbers to an index into a table. Open addressing; it has twice as many slots
 * as the table has entries, so it is never full. Nothing is removed. */
struct slot {
	uint64_t a, b;
	uint32_t index; /* index + 1; 0: the slot is free */
};

struct map {
	uint32_t mask; /* number of slots - 1 */
	struct slot *slot;
};

struct log_stats_maps {
	struct map process; /* key: pid, 0 */
	struct map thread;  /* key: 2 * process (+ 1 if the line names a thread), pthread_t */
	struct map queue;   /* key: process, each address of the queue */
	struct map use;	    /* key: thread, queue */
	/* Caches the thread of the last line, because the next line is mostly of the same
	 * thread. */
	uint64_t last_pid, last_thread;
	unsigned last_has;
	uint32_t last; /* index of the thread; NONE */
	/* The map of queues has more slots, because a queue has up to three addresses (hsa_queue,
	 * ring, unresolved). */
	struct slot processes[2 * LOG_STATS_PROCESSES], threads[2 * LOG_STATS_THREADS],
		queues[4 * LOG_STATS_QUEUES], uses[2 * LOG_STATS_USES];
};

/* Makes a map of an array of slots, whose number is a power of two. */
#define MAP(slots) ((struct map){sizeof(slots) / sizeof((slots)[0]) - 1, slots})

/* Returns the slot of a key, or the free slot in which it belongs. */
static struct slot *map_slot(const struct map *map, uint64_t a, uint64_t b)
{
	uint64_t hash = (a * 0x9e3779b97f4a7c15ull ^ b) * 0xbf58476d1ce4e5b9ull;
	uint32_t at = (uint32_t)(hash >> 32) & map->mask;

	while (map->slot[at].index && (map->slot[at].a != a || map->slot[at].b != b))
		at = (at + 1) & map->mask;
	return &map->slot[at];
}

static uint32_t map_get(const struct map *map, uint64_t a, uint64_t b)
{
	return map_slot(map, a, b)->index - 1; /* NONE if the slot is free */
}

static void map_set(struct map *map, uint64_t a, uint64_t b, uint32_t index)
{
	*map_slot(map, a, b) = (struct slot){a, b, index + 1};
}

struct log_stats *log_stats_new(uint64_t only_pid)
{
	struct log_stats *stats = allocate(1, sizeof(*stats));
	struct log_stats_maps *maps = allocate(1, sizeof(*maps));

	maps->process = MAP(maps->processes);
	maps->thread = MAP(maps->threads);
	maps->queue = MAP(maps->queues);
	maps->use = MAP(maps->uses);
	maps->last = NONE;
	stats->only_pid = only_pid;
	stats->maps = maps;
	return stats;
}

void log_stats_free(struct log_stats *stats)
{
	free(stats->maps);
	free(stats);
}

/* Adds to a sum, which stops at INT64_MAX: a hostile log must not make it wrap to a small
 * number. */
static void add(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum) || *sum > (uint64_t)INT64_MAX)
		*sum = INT64_MAX;
}

/* Returns the index of the process of a log line. Adds the process if it is new. Returns NONE if
 * there is no room. */
static uint32_t process_of(struct log_stats *stats, const struct hiplog_record *record)
{
	struct map *map = &stats->maps->process;
	uint32_t index = map_get(map, record->pid, 0);

	if (index != NONE)
		return index;
	if (stats->processes == LOG_STATS_PROCESSES) {
		stats->full_processes = true;
		return NONE;
	}
	index = stats->processes++;
	stats->process[index] =
		(struct log_stats_process){.pid = record->pid, .first_us = record->us};
	map_set(map, record->pid, 0, index);
	return index;
}

/* Returns the index of the thread of a line, or NONE if there is no room. Adds the thread and its
 * process if they are new. Lines that name no thread share one entry per process. */
static uint32_t thread_of(struct log_stats *stats, const struct hiplog_record *record)
{
	struct log_stats_maps *maps = stats->maps;
	const unsigned named = record->has & HIPLOG_HAS_THREAD;
	uint32_t process, index;

	if (maps->last != NONE && maps->last_pid == record->pid &&
	    maps->last_thread == record->thread && maps->last_has == named)
		return maps->last;
	process = process_of(stats, record);
	if (process == NONE)
		return NONE;
	index = map_get(&maps->thread, (uint64_t)process << 1 | !!named, record->thread);
	if (index == NONE) {
		if (stats->threads == LOG_STATS_THREADS) {
			stats->full_threads = true;
			return NONE;
		}
		index = stats->threads++;
		stats->thread[index] = (struct log_stats_thread){.process = process,
								 .named = named,
								 .thread = record->thread,
								 .first_us = record->us};
		map_set(&maps->thread, (uint64_t)process << 1 | !!named, record->thread, index);
	}
	maps->last = index;
	maps->last_pid = record->pid;
	maps->last_thread = record->thread;
	maps->last_has = named;
	return index;
}

/* Adds a queue and returns its index, or NOWHERE if there is no room. */
static uint32_t new_queue(struct log_stats *stats, uint32_t process)
{
	if (stats->queues == LOG_STATS_QUEUES) {
		stats->full_queues = true;
		return NOWHERE;
	}
	stats->queue[stats->queues] = (struct log_stats_queue){.process = process};
	return stats->queues++;
}

/* Marks an address as that of a queue without room in the table, so that its packets are not
 * counted for an earlier queue with the same address. */
static void disown(struct log_stats *stats, uint32_t process, uint64_t address)
{
	struct slot *slot = map_slot(&stats->maps->queue, process, address);

	if (slot->index)
		slot->index = NOWHERE + 1;
}

/* Stores an address of the queue in *place, and adds the address to the map of queues. */
static void name_queue(struct log_stats *stats, uint32_t index, uint64_t *place, uint64_t address)
{
	*place = address;
	map_set(&stats->maps->queue, stats->queue[index].process, address, index);
}

/* Stores in the queue the addresses that the line has and the queue did not have yet. */
static void learn(struct log_stats *stats, uint32_t index, const struct hiplog_record *record)
{
	struct log_stats_queue *queue = &stats->queue[index];

	if (record->has & HIPLOG_HAS_HSA_QUEUE && !queue->hsa_queue)
		name_queue(stats, index, &queue->hsa_queue, record->hsa_queue);
	if (record->has & HIPLOG_HAS_RING && !queue->ring)
		name_queue(stats, index, &queue->ring, record->ring);
	if (queue->unresolved == queue->hsa_queue || queue->unresolved == queue->ring)
		queue->unresolved = 0;
}

/* Returns true unless the hsa_queue_t or the ring of the line differs from that of the queue. */
static bool fits(const struct log_stats_queue *queue, const struct hiplog_record *record)
{
	return (!(record->has & HIPLOG_HAS_HSA_QUEUE) || !queue->hsa_queue ||
		queue->hsa_queue == record->hsa_queue) &&
	       (!(record->has & HIPLOG_HAS_RING) || !queue->ring || queue->ring == record->ring);
}

/* Returns the index of the queue that the line is about. Returns NONE if the line names no queue,
 * and NOWHERE if the table has no room. Adds the queue if it is new. A line about a creation is
 * always about a new queue, because addresses are used again after a queue is gone. */
static uint32_t queue_of(struct log_stats *stats, uint32_t process,
			 const struct hiplog_record *record)
{
	const struct map *map = &stats->maps->queue;
	uint32_t index = NONE;

	if (!(record->has & (HIPLOG_HAS_HSA_QUEUE | HIPLOG_HAS_RING | HIPLOG_HAS_HWQ)))
		return NONE;
	if (record->kind != HIPLOG_CREATED) {
		if (record->has & HIPLOG_HAS_HWQ)
			index = map_get(map, process, record->hwq);
		if (record->has & HIPLOG_HAS_HSA_QUEUE)
			index = map_get(map, process, record->hsa_queue);
		if (index == NONE && record->has & HIPLOG_HAS_RING)
			index = map_get(map, process, record->ring);
		if (index == NOWHERE)
			return NOWHERE;
		if (index != NONE && !fits(&stats->queue[index], record))
			index = NONE;
	}
	if (index == NONE) {
		index = new_queue(stats, process);
		if (index == NOWHERE) {
			disown(stats, process, record->hsa_queue);
			disown(stats, process, record->ring);
			return NOWHERE;
		}
		if (record->has & HIPLOG_HAS_HWQ)
			name_queue(stats, index, &stats->queue[index].unresolved, record->hwq);
	}
	learn(stats, index, record);
	return index;
}

static void count_packet(struct log_stats_packets *packets, const struct hiplog_record *record)
{
	if (!packets->dispatches && !packets->barriers && !packets->others)
		packets->first_us = record->us;
	packets->last_us = record->us;
	if (record->kind == HIPLOG_DISPATCH)
		packets->dispatches++;
	else if (record->kind == HIPLOG_BARRIER)
		packets->barriers++;
	else
		packets->others++;
}

/* Counts a packet that a thread has put into a queue. */
static void count_use(struct log_stats *stats, uint32_t thread, uint32_t queue,
		      const struct hiplog_record *record)
{
	struct map *map = &stats->maps->use;
	uint32_t index = map_get(map, thread, queue);

	if (index == NONE) {
		if (stats->uses == LOG_STATS_USES) {
			stats->full_uses = true;
			stats->left_out++;
			return;
		}
		index = stats->uses++;
		stats->use[index] = (struct log_stats_use){.thread = thread, .queue = queue};
		map_set(map, thread, queue, index);
	}
	count_packet(&stats->use[index].packets, record);
}

/* Counts a packet for its queue, and computes how many packets the queue had at that time. */
static void packet(struct log_stats_queue *queue, const struct hiplog_record *record)
{
	const unsigned both = HIPLOG_HAS_RPTR | HIPLOG_HAS_WPTR;

	count_packet(&queue->packets, record);
	if (record->has & HIPLOG_HAS_HSA_ID) {
		queue->hsa_id = record->hsa_id;
		queue->has |= HIPLOG_HAS_HSA_ID;
	}
	if ((record->has & both) != both)
		return;
	queue->rptr = record->rptr;
	queue->wptr = record->wptr;
	queue->pointers = true;
	/* HIP logs only the low 32 bits, so compute the difference modulo 2^32: a pointer may have
	 * wrapped. */
	queue->backlog = record->wptr + 1 - record->rptr;
	if (record->wptr <= UINT32_MAX && record->rptr <= UINT32_MAX)
		queue->backlog = (uint32_t)queue->backlog;
	/* Threads write to the log in another order than to the queue, so the GPU may already have
	 * read later packets of other threads. The difference is then negative. */
	if (queue->backlog > INT32_MAX)
		queue->backlog = 0;
	if (queue->backlog > queue->backlog_max)
		queue->backlog_max = queue->backlog;
}

/* Stores the time and the properties of a queue, from the line about its creation. */
static void created(struct log_stats_queue *queue, const struct hiplog_record *record)
{
	queue->created = true;
	queue->created_us = record->us;
	queue->ring_packets = record->packets;
	queue->priority = record->priority;
	queue->cooperative = record->cooperative;
	queue->has |=
		record->has & (HIPLOG_HAS_PACKETS | HIPLOG_HAS_PRIORITY | HIPLOG_HAS_COOPERATIVE);
}

/* Stores the error with which the runtime has ended the queue, as printable ASCII. */
static void aborted(struct log_stats_queue *queue, const struct hiplog_record *record)
{
	size_t bytes =
		record->name.bytes < LOG_STATS_ERROR ? record->name.bytes : LOG_STATS_ERROR - 1;

	queue->aborted = true;
	for (size_t i = 0; i < bytes; i++) {
		char c = record->name.text[i];

		queue->error[i] = c >= ' ' && c <= '~' ? c : '?';
	}
	queue->error[bytes] = '\0';
}

/* Counts a line about a queue. */
static void of_queue(struct log_stats *stats, uint32_t thread, const struct hiplog_record *record)
{
	uint32_t index = queue_of(stats, stats->thread[thread].process, record);
	struct log_stats_queue *queue;

	stats->left_out += index == NOWHERE;
	if (index == NONE || index == NOWHERE)
		return;
	queue = &stats->queue[index];
	switch (record->kind) {
	case HIPLOG_CREATED:
		created(queue, record);
		break;
	case HIPLOG_ACQUIRED:
	case HIPLOG_RELEASED:
		if (record->has & HIPLOG_HAS_REFERENCES) {
			queue->references = record->references;
			queue->has |= HIPLOG_HAS_REFERENCES;
		}
		break;
	case HIPLOG_DELETED:
		queue->deleted = true;
		queue->deleted_us = record->us;
		break;
	case HIPLOG_ABORTED:
		aborted(queue, record);
		break;
	default:
		stats->process[queue->process].apart |= !queue->hsa_queue;
		packet(queue, record);
		count_use(stats, thread, index, record);
		break;
	}
}

void log_stats_add(struct log_stats *stats, const struct hiplog_record *record)
{
	struct log_stats_process *process;
	struct log_stats_thread *thread;
	uint32_t index;

	stats->records++;
	stats->nameless += !(record->has & HIPLOG_HAS_PID);
	if (stats->only_pid && record->pid != stats->only_pid) {
		stats->skipped++;
		return;
	}
	if (record->level > stats->highest_level)
		stats->highest_level = record->level;
	index = thread_of(stats, record);
	if (index == NONE) {
		stats->left_out++;
		return;
	}
	thread = &stats->thread[index];
	process = &stats->process[thread->process];
	process->lines++;
	process->last_us = record->us;
	process->seen[record->kind]++;
	thread->lines++;
	thread->last_us = record->us;
	switch (record->kind) {
	case HIPLOG_OTHER:
	case HIPLOG_RETURN:
	case HIPLOG_KINDS:
		break;
	case HIPLOG_CALL:
		thread->calls++;
		break;
	case HIPLOG_KERNEL:
		thread->kernels++;
		break;
	case HIPLOG_COPY:
		thread->copies++;
		if (record->has & HIPLOG_HAS_ENGINES)
			thread->engines |= record->engines;
		if (record->has & HIPLOG_HAS_BYTES) {
			thread->sized_copies++;
			add(&thread->copied_bytes, record->bytes);
		}
		break;
	case HIPLOG_POOL:
		memcpy(process->pool, record->pool, sizeof(process->pool));
		break;
	case HIPLOG_DISPATCH:
	case HIPLOG_BARRIER:
	case HIPLOG_PACKET:
		count_packet(&thread->packets, record);
		of_queue(stats, index, record);
		break;
	default:
		of_queue(stats, index, record);
		break;
	}
}
