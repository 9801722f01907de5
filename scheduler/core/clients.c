// SPDX-License-Identifier: MIT
/* Keeps the clients and their gangs (clients held together), and implements the functions by which
 * the caller reports events. Decisions are made in decide.c. */
#include <errno.h>
#include <stdlib.h>

#include "scheduler/core/policy_ops.h"

#define SLOT_BITS 16
#define SLOT_MASK ((1u << SLOT_BITS) - 1) /* as in core_index() */

struct core *core_create(const struct core_config *config, uint32_t max_clients)
{
	struct core *core = calloc(1, sizeof(*core));

	if (!core || max_clients == 0 || max_clients > SLOT_MASK) {
		free(core);
		return NULL;
	}
	core->config = *config;
	core->max_clients = max_clients;
	core->free_node = core->free_gpu = NO_INDEX;
	for (uint32_t i = 0; i < GPU_CHAINS; i++)
		core->chains[i] = NO_INDEX;
	core->clients = calloc(max_clients, sizeof(*core->clients));
	core->gangs = calloc(max_clients, sizeof(*core->gangs));
	core->queue_next = calloc(max_clients, sizeof(*core->queue_next));
	core->heap = calloc(max_clients, sizeof(*core->heap));
	core->nodes = calloc((size_t)max_clients * CORE_NODES, sizeof(*core->nodes));
	core->gpus = calloc((size_t)max_clients * CORE_NODES, sizeof(*core->gpus));
	if (!core->clients || !core->gangs || !core->queue_next || !core->heap || !core->nodes ||
	    !core->gpus) {
		core_destroy(core);
		return NULL;
	}
	return core;
}

void core_destroy(struct core *core)
{
	if (!core)
		return;
	free(core->clients);
	free(core->gangs);
	free(core->queue_next);
	free(core->heap);
	free(core->nodes);
	free(core->gpus);
	free(core);
}

struct core_client *client_find(const struct core *core, core_id id)
{
	uint32_t slot = core_index(id);

	if (id == 0 || slot >= core->top || core->clients[slot].id != id)
		return NULL;
	return &core->clients[slot];
}

/* ---- gangs ---- */

/* Sets the gang's priority to the highest of its clients, updates the counts, and queues it. */
static void gang_prioritise(struct core *core, struct gang *gang)
{
	int priority = CORE_PRIORITY_UNSET;

	FOR_CLIENTS (core, gang, c)
		if (c->priority > priority)
			priority = c->priority;
	if (priority != gang->priority) {
		/* Leave the counts of the old priority, then enter those of the new one. */
		FOR_CLIENTS (core, gang, c)
			client_discount(core, c);
		gang->priority = priority;
		gang_set_waits(core, gang, false);
		gang_recount(core, gang);
	}
	gang_queue(core, gang);
}

/* Updates counts, priority and objectives of a gang that a client has left and that still has
 * clients. */
static void gang_left(struct core *core, struct gang *gang)
{
	gang_recount(core, gang);
	gang_objective_changed(core, gang);
	gang_prioritise(core, gang);
}

/* Returns the gang (clients that are held together) whose clients have this group number, which is
 * not 0, and exactly these rights to preempt; NULL: there is none. */
static struct gang *gang_find(const struct core *core, const struct core_rights *rights,
			      uint32_t group)
{
	for (uint32_t at = 0; at < core->gang_top; at++) {
		struct gang *gang = &core->gangs[at];

		if (gang->first != NO_INDEX && gang->group == group &&
		    same_rights(&gang->rights, rights))
			return gang;
	}
	return NULL;
}

/* Returns a new gang without clients. There is always room, because there are no more gangs
 * than clients. The entry counts as free until client_link() puts a client into the gang. */
static struct gang *gang_new(struct core *core)
{
	uint32_t at = 0;
	struct gang *gang;

	while (at < core->gang_top && core->gangs[at].first != NO_INDEX)
		at++;
	if (at == core->gang_top)
		core->gang_top++;
	gang = &core->gangs[at];
	*gang = (struct gang){
		.first = NO_INDEX,
		.priority = CORE_PRIORITY_UNSET,
		.heap_at = NO_INDEX,
		.queued = gang->queued, /* the old gang of this index may still be queued */
	};
	return gang;
}

/* Puts the client, which is in no gang, into this one. */
static void client_link(struct core *core, struct core_client *c, struct gang *gang)
{
	c->gang = (uint32_t)(gang - core->gangs);
	c->next = gang->first;
	gang->first = (uint32_t)(c - core->clients);
}

/* Takes the client out of its gang; if the gang is empty then, it is free and has no deadline. */
static void client_unlink(struct core *core, struct core_client *c)
{
	struct gang *gang = gang_of(core, c);
	uint32_t *link = &gang->first;

	while (*link != (uint32_t)(c - core->clients))
		link = &core->clients[*link].next;
	*link = c->next;
	if (gang->first == NO_INDEX) {
		timer_set(core, gang, CORE_NEVER);
		gang_set_waits(core, gang, false);
	}
}

/* ---- events ---- */

core_id core_add(struct core *core, uint32_t tenant, uint32_t group, int priority, uint64_t now)
{
	const struct core_rights rights = {.tenant = tenant};
	struct gang *gang = NULL;
	struct core_client *c;
	uint32_t slot = 0;

	if (priority < CORE_PRIORITY_UNSET || priority >= CORE_PRIORITIES)
		return 0;
	while (slot < core->top && core->clients[slot].id)
		slot++;
	if (slot == core->max_clients)
		return 0;
	if (slot == core->top)
		core->top++;
	if (++core->generation == 0)
		core->generation = 1;
	c = &core->clients[slot];
	*c = (struct core_client){
		.id = ((uint32_t)core->generation << SLOT_BITS) | slot,
		.priority = priority,
		.time_since = now,
	};
	if (group)
		gang = gang_find(core, &rights, group);
	if (!gang) {
		gang = gang_new(core);
		gang->rights = rights;
		gang->group = group;
		gang->running_since = now;
	}
	client_link(core, c, gang);
	gang_prioritise(core, gang);
	return c->id;
}

void core_remove(struct core *core, core_id id)
{
	struct core_client *c = client_find(core, id);
	struct gang *gang;

	if (!c)
		return;
	gang = gang_of(core, c);
	client_uncount(core, c);
	client_leave_nodes(core, c);
	client_unlink(core, c);
	c->id = 0;
	if (gang->first != NO_INDEX)
		gang_left(core, gang);
}

void core_set_capability(struct core *core, core_id id, enum core_capability capability)
{
	struct core_client *c = client_find(core, id);

	if (!c)
		return;
	c->capability = capability;
	gang_queue(core, gang_of(core, c));
}

void core_clear_exempt(struct core *core, core_id id)
{
	struct core_client *c = client_find(core, id);

	if (!c)
		return;
	c->exempt = CORE_EXEMPT_NOT;
	c->slow = 0;
	if (c->not_before == c->slow_until)
		c->not_before = 0;
	c->slow_until = 0;
	gang_queue(core, gang_of(core, c));
}

void core_set_priority(struct core *core, core_id id, int priority)
{
	struct core_client *c = client_find(core, id);

	if (!c || priority < CORE_PRIORITY_UNSET || priority >= CORE_PRIORITIES)
		return;
	c->priority = priority;
	gang_prioritise(core, gang_of(core, c));
	client_recount(core, c); /* a client is counted only while it has a priority */
}

void core_set_victim_only(struct core *core, core_id id)
{
	struct core_client *c = client_find(core, id);

	if (!c)
		return;
	c->victim_only = true;
	client_recount(core, c);
}

void core_set_slo(struct core *core, core_id id, uint64_t slo_ns)
{
	struct core_client *c = client_find(core, id);

	if (!c)
		return;
	c->slo_ns = slo_ns;
	gang_objective_changed(core, gang_of(core, c));
}

bool core_set_activity(struct core *core, core_id id, uint32_t gpu_id, bool active, uint64_t now)
{
	struct core_client *c = client_find(core, id);
	bool before, after;
	int client_node;

	if (!c)
		return true;
	client_node = client_find_node(core, c, gpu_id);
	if (client_node < 0)
		return false;
	before = node_set_any(&c->active);
	node_set_put(&c->active, (uint32_t)client_node, active);
	if (active)
		node_set_put(&c->held, (uint32_t)client_node, true);
	after = node_set_any(&c->active);
	if (!before && after) {
		c->busy_since = now;
		c->interrupted = false;
	}
	if (before && !after && !c->interrupted && c->state == CORE_RUNNING)
		request_learn(c, now - c->busy_since);
	client_recount(core, c);
	gang_queue(core, gang_of(core, c));
	return true;
}

void core_set_teardown(struct core *core, core_id id, bool teardown)
{
	struct core_client *c = client_find(core, id);

	if (!c)
		return;
	c->teardown = teardown;
	gang_queue(core, gang_of(core, c));
}

void core_set_lease(struct core *core, core_id id, uint64_t until_ns)
{
	struct core_client *c = client_find(core, id);

	if (!c)
		return;
	c->lease_until = until_ns;
	gang_queue(core, gang_of(core, c));
}

/* ---- results of actions ---- */

/* Records whether the last suspend was slow. The pause until the next suspend doubles with each
 * slow one in a row. After CORE_SLOW_MAX in a row the client is exempt from suspension for good. */
static void slow_learn(struct core_client *c, bool slow, uint64_t now)
{
	c->slow = slow ? c->slow + 1 : 0;
	c->slow_until = slow ? now + ((uint64_t)CORE_SLOW_PAUSE_NS << (c->slow - 1)) : 0;
	if (c->slow >= CORE_SLOW_MAX)
		c->exempt = CORE_EXEMPT_SLOW;
}

/* Adds the time of a suspend or resume call to the cost of the gang's hold or release. Time that is
 * covered by an earlier call is not added again: calls that begin together end one after another,
 * because the driver updates the runlist of a GPU for one process at a time. */
static void cost_add(struct gang *gang, uint64_t begin, uint64_t end)
{
	uint64_t from = begin > gang->called_ns ? begin : gang->called_ns;

	if (end <= from)
		return;
	gang->cost_ns += end - from;
	gang->called_ns = end;
}

/* Learns what the gang's hold or release has cost, once none of its calls is in flight any more,
 * and adds the cost of a hold for more urgent work to the gang's debt (debt_ns). */
static void calls_ended(const struct core *core, struct gang *gang)
{
	FOR_CLIENTS (core, gang, c)
		if (c->state == CORE_SUSPENDING || c->state == CORE_RESUMING ||
		    (c->state == CORE_SUSPENDED && !gang->held))
			return;
	if (!gang->cost_ns)
		return;
	if (gang->measured)
		gaps_cost_learn(gang->held ? &gang->suspend_ns : &gang->resume_ns, gang->cost_ns);
	if (gang->held && gang->unpaid)
		debt_add(core, gang, gang->cost_ns);
	gang->cost_ns = 0;
	gang->measured = gang->unpaid = false;
}

static void suspend_finished(struct core *core, struct core_client *c, struct gang *gang, int error,
			     uint64_t duration_ns, uint64_t now)
{
	if (error == -ECANCELED) {
		c->state = CORE_RUNNING;
		c->prompt = false;
		c->not_before = c->teardown ? 0 : now + CORE_RETRY_NS;
		return;
	}
	c->state = CORE_SUSPENDED;
	c->not_before = 0;
	if (error) {
		c->failures++;
		c->exempt = CORE_EXEMPT_FAILED;
		c->undo = true;
		return;
	}
	c->suspends++;
	cost_add(gang, c->suspended_since, c->suspended_since + duration_ns);
	slow_learn(c, duration_ns > core->config.slow_suspend_ns, now);
}

static void resume_finished(const struct core *core, struct core_client *c, struct gang *gang,
			    int error, uint64_t duration_ns, uint64_t now)
{
	if (error) {
		c->state = CORE_SUSPENDED;
		c->failures++;
		c->prompt = false;
		c->not_before = now + CORE_RETRY_NS;
		return;
	}
	c->state = CORE_RUNNING;
	/* A client that creates and destroys queues all the time must not cause a suspension, and
	 * with it a preemption of the whole node, each time. */
	c->not_before = c->early ? c->suspended_since + CORE_RETRY_NS : 0;
	if (c->not_before < c->slow_until)
		c->not_before = c->slow_until;
	if (!c->undo) {
		c->resumes++;
		if (!gang->held)
			cost_add(gang, now - duration_ns, now);
	}
	c->suspended_ns += now - c->suspended_since;
	c->interrupted = true;
	c->undo = false;
	c->prompt = true;
	if (gang->held)
		return;
	share_count(core, gang, gang->running_since, now);
	gang->running_since = now;
	if (gang->starved)
		gang->run_until = now + core->config.min_run_ns;
}

void core_finished(struct core *core, core_id id, int error, uint64_t duration_ns, uint64_t now)
{
	struct core_client *c = client_find(core, id);
	struct gang *gang;

	if (!c)
		return;
	gang = &core->gangs[c->gang];
	if (c->state == CORE_SUSPENDING)
		suspend_finished(core, c, gang, error, duration_ns, now);
	else if (c->state == CORE_RESUMING)
		resume_finished(core, c, gang, error, duration_ns, now);
	calls_ended(core, gang);
	client_recount(core, c);
	gang_account(core, gang, now);
	gang_queue(core, gang);
}

/* ---- changes of a client's rights or group, possibly while it is held ---- */

static bool is_off(const struct core_client *c)
{
	return c->state == CORE_SUSPENDED || c->state == CORE_SUSPENDING;
}

/* Makes a new gang (clients held together) for the client `c`, which leaves the gang `from`. It
 * gets a copy of the history of `from`, and is on hold only if `c` is off the GPU. */
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

/* Returns the time on hold that counts for the starvation bound, in ns. */
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
	/* Each set of rights has node entries (struct core_node) of its own: the client leaves the
	 * entries of its old rights and enters those of its new ones, on the same GPUs. */
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
