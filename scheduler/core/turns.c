// SPDX-License-Identifier: MIT
/*
 * The units that are held for the same work take turns in its gaps: each that runs when the gap
 * ends is one suspension more that the work must wait for, and together they hardly get more of
 * the GPU than one of them.
 */
#include "scheduler/core/state.h"

/* Is it suspended for more urgent work that is over, and before `unit` in the order of turns?
 * Since all that ran are held anew when a gap ends, the first is the one that has run longest ago. */
static bool is_ahead(const struct core *core, const struct unit *other, const struct unit *unit,
		     uint64_t now)
{
	struct press press;

	if (!other->held || unit_leased_until(core, other) > now)
		return false;
	if (other->held_since > unit->held_since ||
	    (other->held_since == unit->held_since && other > unit))
		return false;
	press_look(core, other, now, &press);
	return !press.pressed;
}

static bool has_turn(const struct core *core, const struct client *c, const struct unit *unit,
		     uint64_t now)
{
	const struct unit *other = &core->units[c->unit];

	if (other == unit || other->priority != unit->priority)
		return false;
	if (c->state == CORE_SUSPENDED)
		return is_ahead(core, other, unit, now);
	return !other->held && c->capability == CORE_ABLE && !unit_hindered(core, other, false);
}

static bool others_turn_on(const struct core *core, const struct node *node,
			   const struct unit *unit, uint64_t now)
{
	for (uint32_t at = node->first; at != NOBODY;) {
		const struct client *c = &core->clients[at / CORE_NODES];
		uint32_t number = at % CORE_NODES;

		if (client_working(c) >> number & 1 && has_turn(core, c, unit, now))
			return true;
		at = c->places[number].next;
	}
	return false;
}

bool others_turn(const struct core *core, const struct unit *unit, uint64_t now)
{
	FOR_CLIENTS (core, unit, c)
		for (uint32_t working = client_working(c); working; working &= working - 1)
			if (others_turn_on(core,
					   &core->nodes[c->places[__builtin_ctz(working)].node],
					   unit, now))
				return true;
	return false;
}

void turn_ends(struct core *core, const struct node *node)
{
	for (uint32_t at = node->first; at != NOBODY;) {
		const struct client *c = &core->clients[at / CORE_NODES];
		struct unit *unit = &core->units[c->unit];

		if (unit->waits)
			unit_queue(core, unit);
		at = c->places[at % CORE_NODES].next;
	}
}
