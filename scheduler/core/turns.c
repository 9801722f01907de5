// SPDX-License-Identifier: MIT
/*
 * The units that are held for the same work take turns in its gaps: each unit that runs when the
 * gap ends is one suspension more that the work must wait for, and together the units hardly get
 * more of the GPU than one of them.
 */
#include "scheduler/core/state.h"

/* All units that ran are held anew when a gap ends, so the first in turn is the unit that ran
 * longest ago. */
static bool is_before(const struct unit *a, const struct unit *b)
{
	return a->held_since != b->held_since ? a->held_since < b->held_since : a < b;
}

/* Will the unit be resumed in this gap, now or so soon that waiting for it costs less than the
 * suspension that is saved? */
static bool is_resumed_soon(const struct core *core, struct unit *unit, uint64_t now)
{
	struct press press;
	uint64_t over;

	if (unit_leased_until(core, unit) > now)
		return false;
	press_look(core, unit, now, &press);
	if (press.pressed)
		return false;
	/* If this gap has just begun, the unit may not have been decided in it yet. */
	over = unit->pressed ? now + hold_over_ns(core, unit, false)
			     : hold_over_end(core, unit, false);
	return over <= now + unit->suspend_ns;
}

/* Does the client's unit run in this gap for work that it shows, so that another can wait for it? A
 * passive client has a queue at all times and perhaps no work. */
static bool takes_turn(const struct core *core, const struct client *c, struct unit *unit,
		       uint64_t now)
{
	if (c->passive || c->leaving)
		return false;
	if (c->state == CORE_SUSPENDED)
		return unit->held && is_resumed_soon(core, unit, now);
	return !unit->held && c->capability == CORE_ABLE && !unit_hindered(core, unit, false);
}

static struct unit *find_first(const struct core *core, const struct node *node, int priority,
			       uint64_t now)
{
	struct unit *first = NULL;

	for (uint32_t at = node->first; at != NOBODY;) {
		const struct client *c = &core->clients[at / CORE_NODES];
		struct unit *unit = &core->units[c->unit];
		uint32_t number = at % CORE_NODES;

		if (unit->priority == priority && node_set_has(&c->counted.working, number) &&
		    (!first || is_before(unit, first)) && takes_turn(core, c, unit, now))
			first = unit;
		at = c->places[number].next;
	}
	return first;
}

/* Many units may ask for the same node in one decision: found once, until something changes. */
static const struct unit *first_in_turn(const struct core *core, struct node *node, int priority,
					uint64_t now)
{
	if (node->turn.as_of != core->turns || node->turn.priority != priority) {
		node->turn.unit = find_first(core, node, priority, now);
		node->turn.priority = priority;
		node->turn.as_of = core->turns;
	}
	return node->turn.unit;
}

bool others_turn(struct core *core, const struct unit *unit, uint64_t now)
{
	const struct unit *first;

	if (unit->priority < 0)
		return false;
	FOR_CLIENTS (core, unit, c) {
		if (c->passive)
			continue;
		FOR_PLACES (c, &c->counted.working, number) {
			struct node *node = &core->nodes[c->places[number].node];

			first = first_in_turn(core, node, unit->priority, now);
			if (first && is_before(first, unit))
				return true;
		}
	}
	return false;
}

/* One alone: if its turn is not this one either, it waits on, and no unit behind it has a turn. */
void turn_ends(struct core *core, const struct node *node, int priority)
{
	struct unit *next = NULL;

	for (uint32_t at = node->first; at != NOBODY;) {
		const struct client *c = &core->clients[at / CORE_NODES];
		struct unit *unit = &core->units[c->unit];

		if (unit->waits && unit->priority == priority && (!next || is_before(unit, next)))
			next = unit;
		at = c->places[at % CORE_NODES].next;
	}
	if (!next)
		return;
	next->waits = false;
	unit_queue(core, next);
}
