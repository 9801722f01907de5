// SPDX-License-Identifier: MIT
/* Keeps the timers in a heap with four children per node, ordered by time and then by the order in
 * which the timers were set. The keys are stored in the heap itself, so that comparisons do not
 * access the timers. */
#include <errno.h>
#include <stdlib.h>

#include "sim/gpu/gpu_priv.h"

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

struct gpu_timer *heap_pop(struct heap *heap)
{
	struct gpu_timer *timer = heap->entries[0].timer;

	heap_cancel(heap, timer);
	return timer;
}
