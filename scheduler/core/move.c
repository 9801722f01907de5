// SPDX-License-Identifier: MIT
/* Changes of a client's rights or group, possibly while it is held. */
#include "scheduler/core/sched_priv.h"

static bool is_off(const struct core_client *c)
{
	return c->state == CORE_SUSPENDED || c->state == CORE_SUSPENDING;
}

/* Makes a new gang for a client that leaves others: with a copy of their history, but on hold
 * only if the client itself is off the GPU. */
static struct gang *split(struct core *core, const struct core_client *c, const struct gang *from,
			  uint64_t now)
{
	struct gang *to = gang_new(core), empty = *to;

	*to = *from;
	to->first = NO_INDEX;
	to->priority = CORE_PRIORITY_UNSET;
	to->heap_at = NO_INDEX;
	to->queued = empty.queued;
	if (to->held && !is_off(c))
		gang_release(core, to, now);
	return to;
}

/* Time on hold that counts for the starvation bound. */
static uint64_t off_for(const struct gang *gang, uint64_t now)
{
	return gang->hold_span_ns + (gang->held ? now - gang->held_since : 0);
}

/* Prepares gang `to` for a client that joins it. If both gangs are on hold, the client must not be
 * held for the whole max_suspended_ns once more, so `to` counts as held for at least as long as
 * `from`. If `to` is not on hold the client is resumed, as after a teardown call; it is not
 * suspended again before its resume has finished (resume_finished()). */
static void join(const struct core_client *c, const struct gang *from, struct gang *to,
		 uint64_t now)
{
	if (!is_off(c) || !from->held || !to->held)
		return;
	if (off_for(from, now) > off_for(to, now))
		to->hold_span_ns += off_for(from, now) - off_for(to, now);
}

void core_move(struct core *core, core_id id, const struct core_rights *rights, uint32_t group,
	       uint64_t now)
{
	struct core_client *c = client_find(core, id);
	uint32_t gpu_ids[CORE_NODES], client_nodes;
	struct node_set active, held;
	struct gang *from, *to;

	if (!c)
		return;
	from = &core->gangs[c->gang];
	if (from->group == group && same_rights(&from->rights, rights))
		return;
	/* Node entries belong to rights: leave those of the old rights, and enter those of the
	 * new ones with the same GPUs. */
	client_nodes = c->client_node_count;
	for (uint32_t i = 0; i < client_nodes; i++)
		gpu_ids[i] = core->nodes[c->client_nodes[i].node].gpu_id;
	active = c->active;
	held = c->held;
	client_uncount(core, c);
	client_leave_nodes(core, c);

	to = group ? gang_find(core, rights, group) : NULL;
	if (to) {
		join(c, from, to, now);
	} else if (from->first == (uint32_t)(c - core->clients) && c->next == NO_INDEX) {
		to = from;
	} else {
		to = split(core, c, from, now);
	}
	to->rights = *rights;
	to->group = group;
	if (to != from) {
		client_unlink(core, c);
		client_link(core, c, to);
	}
	for (uint32_t i = 0; i < client_nodes; i++)
		client_find_node(core, c, gpu_ids[i]);
	c->active = active;
	c->held = held;
	if (from != to && from->first != NO_INDEX)
		gang_left(core, from);
	gang_prioritise(core, to);
	client_recount(core, c);
}
