// SPDX-License-Identifier: MIT
/* The gangs that the next decision evaluates: those that an event concerns, the most urgent first,
 * and those whose deadline is over, from a binary heap. */
#include "scheduler/core/sched_priv.h"

static uint32_t index_of(const struct core *core, const struct unit *unit)
{
	return (uint32_t)(unit - core->units);
}

void unit_queue(struct core *core, struct unit *unit)
{
	uint32_t at = index_of(core, unit), list = (uint32_t)(unit->priority + 1);

	if (unit->queued)
		return;
	unit->queued = true;
	core->queue_next[at] = NOBODY;
	if (core->queued >> list & 1)
		core->queue_next[core->queue_last[list]] = at;
	else
		core->queue_first[list] = at;
	core->queue_last[list] = at;
	core->queued |= 1u << list;
}

struct unit *unit_dequeue(struct core *core)
{
	uint32_t list, at;

	if (core->queued == 0)
		return NULL;
	list = 31u - (uint32_t)__builtin_clz(core->queued);
	at = core->queue_first[list];
	core->queue_first[list] = core->queue_next[at];
	if (core->queue_first[list] == NOBODY)
		core->queued &= ~(1u << list);
	core->units[at].queued = false;
	return &core->units[at];
}

/* ---- the heap of deadlines ---- */

static void put(struct core *core, uint32_t at, uint32_t unit)
{
	core->heap[at] = unit;
	core->units[unit].heap_at = at;
}

static uint64_t key(const struct core *core, uint32_t at)
{
	return core->units[core->heap[at]].deadline;
}

/* Moves the gang at index `at` up or down to where its deadline belongs. */
static void sift(struct core *core, uint32_t at)
{
	uint32_t unit = core->heap[at], child;
	uint64_t deadline = core->units[unit].deadline;

	while (at && key(core, (at - 1) / 2) > deadline) {
		put(core, at, core->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (;;) {
		child = 2 * at + 1;
		if (child + 1 < core->heap_count && key(core, child + 1) < key(core, child))
			child++;
		if (child >= core->heap_count || key(core, child) >= deadline)
			break;
		put(core, at, core->heap[child]);
		at = child;
	}
	put(core, at, unit);
}

static void timer_remove(struct core *core, struct unit *unit)
{
	uint32_t at = unit->heap_at;

	unit->heap_at = NOBODY;
	if (at == --core->heap_count)
		return;
	put(core, at, core->heap[core->heap_count]);
	sift(core, at);
}

void timer_set(struct core *core, struct unit *unit, uint64_t at)
{
	if (at == CORE_NEVER) {
		if (unit->heap_at != NOBODY)
			timer_remove(core, unit);
		return;
	}
	if (unit->heap_at != NOBODY && unit->deadline == at)
		return;
	unit->deadline = at;
	if (unit->heap_at == NOBODY)
		put(core, core->heap_count++, index_of(core, unit));
	sift(core, unit->heap_at);
}

uint64_t timer_next(const struct core *core)
{
	return core->heap_count ? key(core, 0) : CORE_NEVER;
}

void timers_due(struct core *core, uint64_t now)
{
	while (core->heap_count && key(core, 0) <= now) {
		struct unit *unit = &core->units[core->heap[0]];

		timer_remove(core, unit);
		unit_queue(core, unit);
	}
}
