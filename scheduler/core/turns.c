// SPDX-License-Identifier: MIT
/*
 * Turns: gangs (clients held together) of one priority that are held for the same work run one at a
 * time in the gaps of that work. Each gang that runs when a gap ends costs one more suspension, for
 * which the work has to wait, and several gangs together hardly get more of the GPU than one of
 * them.
 */
#include "scheduler/core/sched_priv.h"

/* Returns true if the turn of `a` comes before that of `b`: turns have the order in which the holds
 * began. All gangs that ran are held again when a gap (pause of more urgent work) ends, so the
 * first gang is the one that ran longest ago. */
static bool is_before(const struct gang *a, const struct gang *b)
{
	return a->held_since != b->held_since ? a->held_since < b->held_since : a < b;
}

/* Returns true if the gang, which is on hold, will be resumed in this gap (pause of more urgent
 * work), either now or so soon that to wait for it costs less than the suspension that the wait
 * saves. */
static bool is_resumed_soon(const struct core *core, struct gang *gang, uint64_t now)
{
	struct contention_state outcome;
	uint64_t over;

	if (gang_leased_until(core, gang) > now)
		return false;
	evaluate_contention(core, gang, now, &outcome);
	if (outcome.contended)
		return false;
	/* If the gap in more urgent work has just begun, the gang may still count as contended,
	 * because it was not evaluated yet. */
	over = gang->contended ? now + hold_over_ns(core, gang, false)
			       : hold_over_end(core, gang, false);
	return over <= now + gang->suspend_ns;
}

/* Returns true if other gangs have to wait for the client's gang in this gap (pause of more urgent
 * work). They do not wait for a victim-only client (core_set_victim_only()), because it counts as
 * active also without work, nor for a gang that cannot be suspended, because it costs no
 * suspension. */
static bool takes_turn(const struct core *core, const struct core_client *c, struct gang *gang,
		       uint64_t now)
{
	if (c->victim_only || c->teardown)
		return false;
	if (c->state == CORE_SUSPENDED)
		return gang->held && is_resumed_soon(core, gang, now);
	return !gang->held && c->capability == CORE_ABLE && !gang_is_blocked(core, gang, false);
}

static struct gang *find_first(const struct core *core, const struct core_node *node, int priority,
			       uint64_t now)
{
	struct gang *first = NULL;

	for (uint32_t at = node->first; at != NO_INDEX;) {
		const struct core_client *c = &core->clients[at / CORE_NODES];
		struct gang *gang = &core->gangs[c->gang];
		uint32_t number = at % CORE_NODES;

		if (gang->priority == priority && node_set_has(&c->counted.working, number) &&
		    (!first || is_before(gang, first)) && takes_turn(core, c, gang, now))
			first = gang;
		at = c->client_nodes[number].next;
	}
	return first;
}

/* Returns the gang (clients held together) of this priority that is first in turn on the node entry
 * (struct core_node); NULL: none. The result is kept until something changes, because many gangs
 * may need it in one decision. */
static const struct gang *first_in_turn(const struct core *core, struct core_node *node,
					int priority, uint64_t now)
{
	if (node->turn.as_of != core->turns || node->turn.priority != priority) {
		node->turn.gang = find_first(core, node, priority, now);
		node->turn.priority = priority;
		node->turn.as_of = core->turns;
	}
	return node->turn.gang;
}

bool others_turn(struct core *core, const struct gang *gang, uint64_t now)
{
	const struct gang *first;

	if (gang->priority < 0)
		return false;
	FOR_CLIENTS (core, gang, c) {
		if (c->victim_only)
			continue;
		FOR_CLIENT_NODES(c, &c->counted.working, number)
		{
			struct core_node *node = &core->nodes[c->client_nodes[number].node];

			first = first_in_turn(core, node, gang->priority, now);
			if (first && is_before(first, gang))
				return true;
		}
	}
	return false;
}

/* Queues only the first of the waiting gangs: if it has to wait longer, the gangs behind it have to
 * wait, too. */
void turn_ends(struct core *core, const struct core_node *node, int priority)
{
	struct gang *next = NULL;

	if (!core->waiting)
		return;
	for (uint32_t at = node->first; at != NO_INDEX;) {
		const struct core_client *c = &core->clients[at / CORE_NODES];
		struct gang *gang = &core->gangs[c->gang];

		if (gang->waits && gang->priority == priority && (!next || is_before(gang, next)))
			next = gang;
		at = c->client_nodes[at % CORE_NODES].next;
	}
	if (!next)
		return;
	gang_set_waits(core, next, false);
	gang_queue(core, next);
}
