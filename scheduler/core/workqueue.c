// SPDX-License-Identifier: MIT
/* Keeps the gangs (clients held together) that the next decision evaluates: those that an event
 * concerns, in lists by priority, and those whose deadline has passed, from a binary heap. */
#include "scheduler/core/sched_priv.h"

static uint32_t index_of(const struct core *core, const struct gang *gang)
{
	return (uint32_t)(gang - core->gangs);
}

void gang_queue(struct core *core, struct gang *gang)
{
	uint32_t at = index_of(core, gang), list = (uint32_t)(gang->priority + 1);

	if (gang->queued)
		return;
	gang->queued = true;
	core->queue_next[at] = NO_INDEX;
	if (core->queued >> list & 1)
		core->queue_next[core->queue_last[list]] = at;
	else
		core->queue_first[list] = at;
	core->queue_last[list] = at;
	core->queued |= 1u << list;
}

struct gang *gang_dequeue(struct core *core)
{
	uint32_t list, at;

	if (core->queued == 0)
		return NULL;
	list = 31u - (uint32_t)__builtin_clz(core->queued);
	at = core->queue_first[list];
	core->queue_first[list] = core->queue_next[at];
	if (core->queue_first[list] == NO_INDEX)
		core->queued &= ~(1u << list);
	core->gangs[at].queued = false;
	return &core->gangs[at];
}

/* ---- the heap of deadlines ---- */

static void put(struct core *core, uint32_t at, uint32_t gang)
{
	core->heap[at] = gang;
	core->gangs[gang].heap_at = at;
}

static uint64_t key(const struct core *core, uint32_t at)
{
	return core->gangs[core->heap[at]].deadline;
}

/* Moves the gang at index `at` up or down to where its deadline belongs. */
static void sift(struct core *core, uint32_t at)
{
	uint32_t gang = core->heap[at], child;
	uint64_t deadline = core->gangs[gang].deadline;

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
	put(core, at, gang);
}

static void timer_remove(struct core *core, struct gang *gang)
{
	uint32_t at = gang->heap_at;

	gang->heap_at = NO_INDEX;
	if (at == --core->heap_count)
		return;
	put(core, at, core->heap[core->heap_count]);
	sift(core, at);
}

void timer_set(struct core *core, struct gang *gang, uint64_t at)
{
	if (at == CORE_NEVER) {
		if (gang->heap_at != NO_INDEX)
			timer_remove(core, gang);
		return;
	}
	if (gang->heap_at != NO_INDEX && gang->deadline == at)
		return;
	gang->deadline = at;
	if (gang->heap_at == NO_INDEX)
		put(core, core->heap_count++, index_of(core, gang));
	sift(core, gang->heap_at);
}

uint64_t timer_next(const struct core *core)
{
	return core->heap_count ? key(core, 0) : CORE_NEVER;
}

void timers_due(struct core *core, uint64_t now)
{
	while (core->heap_count && key(core, 0) <= now) {
		struct gang *gang = &core->gangs[core->heap[0]];

		timer_remove(core, gang);
		gang_queue(core, gang);
	}
}
