// SPDX-License-Identifier: MIT
#include "scheduler/core/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_BITS 16
#define SLOT_MASK ((1u << SLOT_BITS) - 1) /* as core_index */

/* One node as one tenant sees it: who is active there and on the GPU. */
struct group {
	uint32_t users; /* clients that know the node; 0: free */
	uint32_t tenant;
	uint32_t gpu_id;
	uint32_t urgent; /* bit p: a client of priority p is counted */
	uint32_t count[CORE_PRIORITIES];
};

struct node {
	uint32_t gpu_id;
	uint32_t group;
};

struct client {
	core_id id; /* 0: free */
	uint32_t tenant;
	int priority;
	enum core_capability capability;
	enum core_state state;
	enum core_spared spared;
	bool leaving;
	bool undo;    /* a suspend failed: one resume cleans up */
	bool starved; /* the resume in flight is one of the starvation bound */
	bool prompt;  /* nothing but activity stands between it and its next action */

	uint32_t node_count;
	struct node nodes[CORE_NODES];
	uint32_t active;  /* bit: node where it says that it has work */
	uint32_t held;	  /* the same since its suspension began: only grows */
	uint32_t counted; /* bit: node whose group counts it */

	uint64_t running_since, suspended_since;
	uint64_t ran_ns;     /* since its last rest from suspension was full */
	uint64_t stretch_ns; /* suspended meanwhile, the present one excluded */
	uint64_t run_until;  /* not suspended before */
	uint64_t retry_at;   /* no resume before */

	uint64_t suspends, resumes, failures, suspended_ns;
};

struct core {
	struct core_config config;
	uint32_t max_clients;
	uint32_t top; /* slots from here on were never used */
	uint32_t group_count;
	uint16_t generation;
	struct client *clients;
	struct group *groups;
};

struct core *core_create(const struct core_config *config, uint32_t max_clients)
{
	struct core *core = calloc(1, sizeof(*core));

	if (!core || max_clients == 0 || max_clients > SLOT_MASK) {
		free(core);
		return NULL;
	}
	core->config = *config;
	core->max_clients = max_clients;
	core->group_count = max_clients * CORE_NODES;
	core->clients = calloc(max_clients, sizeof(*core->clients));
	core->groups = calloc(core->group_count, sizeof(*core->groups));
	if (!core->clients || !core->groups) {
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
	free(core->groups);
	free(core);
}

static struct client *find(const struct core *core, core_id id)
{
	uint32_t slot = core_index(id);

	if (id == 0 || slot >= core->top || core->clients[slot].id != id)
		return NULL;
	return &core->clients[slot];
}

static bool in_flight(const struct client *c)
{
	return c->state == CORE_SUSPENDING || c->state == CORE_RESUMING;
}

/* Is it on the GPU, or about to be? */
static bool present(const struct client *c)
{
	return c->state == CORE_RUNNING || c->state == CORE_RESUMING;
}

/* Brings the groups' counts in line with the client. */
static void recount(struct core *core, struct client *c)
{
	uint32_t want = present(c) && c->priority >= 0 ? c->active : 0;
	uint32_t changed = want ^ c->counted;

	while (changed) {
		uint32_t bit = changed & -changed;
		struct group *g = &core->groups[c->nodes[__builtin_ctz(bit)].group];

		g->count[c->priority] += want & bit ? 1u : -1u;
		if (g->count[c->priority])
			g->urgent |= 1u << c->priority;
		else
			g->urgent &= ~(1u << c->priority);
		changed ^= bit;
	}
	c->counted = want;
}

static bool pressed(const struct core *core, const struct client *c)
{
	uint32_t nodes = c->state == CORE_RUNNING ? c->active : c->held;

	if (c->priority < 0)
		return false;
	while (nodes) {
		uint32_t bit = nodes & -nodes;

		if (core->groups[c->nodes[__builtin_ctz(bit)].group].urgent >> (c->priority + 1))
			return true;
		nodes ^= bit;
	}
	return false;
}

core_id core_add(struct core *core, uint32_t tenant, int priority, uint64_t now)
{
	struct client *c;
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
	*c = (struct client){
		.id = ((uint32_t)core->generation << SLOT_BITS) | slot,
		.tenant = tenant,
		.priority = priority,
		.running_since = now,
	};
	return c->id;
}

void core_remove(struct core *core, core_id id)
{
	struct client *c = find(core, id);

	if (!c)
		return;
	c->active = 0;
	recount(core, c);
	for (uint32_t i = 0; i < c->node_count; i++)
		core->groups[c->nodes[i].group].users--;
	c->id = 0;
}

void core_set_capability(struct core *core, core_id id, enum core_capability capability)
{
	struct client *c = find(core, id);

	if (c)
		c->capability = capability;
}

/* The client's entry for a node, new if need be; -1: no room. */
static int node_of(struct core *core, struct client *c, uint32_t gpu_id)
{
	struct group *free_group = NULL;
	struct group *g = NULL;

	for (uint32_t i = 0; i < c->node_count; i++)
		if (c->nodes[i].gpu_id == gpu_id)
			return (int)i;
	if (c->node_count == CORE_NODES)
		return -1;
	for (uint32_t i = 0; i < core->group_count && !g; i++) {
		struct group *at = &core->groups[i];

		if (at->users && at->tenant == c->tenant && at->gpu_id == gpu_id)
			g = at;
		else if (!at->users && !free_group)
			free_group = at;
	}
	if (!g) {
		/* There is one: every client has room for CORE_NODES. */
		g = free_group;
		*g = (struct group){.tenant = c->tenant, .gpu_id = gpu_id};
	}
	g->users++;
	c->nodes[c->node_count] =
		(struct node){.gpu_id = gpu_id, .group = (uint32_t)(g - core->groups)};
	return (int)c->node_count++;
}

bool core_set_activity(struct core *core, core_id id, uint32_t gpu_id, bool active)
{
	struct client *c = find(core, id);
	int node;

	if (!c)
		return true;
	node = node_of(core, c, gpu_id);
	if (node < 0)
		return false;
	if (active) {
		c->active |= 1u << node;
		c->held |= 1u << node;
	} else {
		c->active &= ~(1u << node);
	}
	recount(core, c);
	return true;
}

void core_set_leaving(struct core *core, core_id id, bool leaving)
{
	struct client *c = find(core, id);

	if (c)
		c->leaving = leaving;
}

static void suspend_finished(struct core *core, struct client *c, int error, uint64_t duration_ns,
			     uint64_t now)
{
	if (error == -ECANCELED) {
		c->state = CORE_RUNNING;
		c->running_since = now;
		c->prompt = false;
		recount(core, c);
		return;
	}
	c->state = CORE_SUSPENDED;
	c->retry_at = 0;
	if (error) {
		c->failures++;
		c->spared = CORE_SPARED_FAILED;
		c->undo = true;
		return;
	}
	c->suspends++;
	if (duration_ns > core->config.slow_suspend_ns)
		c->spared = CORE_SPARED_SLOW;
}

static void resume_finished(struct core *core, struct client *c, int error, uint64_t now)
{
	if (error) {
		c->state = CORE_SUSPENDED;
		c->failures++;
		c->prompt = false;
		c->retry_at = now + CORE_RETRY_NS;
		recount(core, c);
		return;
	}
	c->state = CORE_RUNNING;
	if (!c->undo)
		c->resumes++;
	c->stretch_ns += now - c->suspended_since;
	c->suspended_ns += now - c->suspended_since;
	c->running_since = now;
	if (c->starved) {
		c->run_until = now + core->config.min_run_ns;
		c->stretch_ns = 0;
		c->ran_ns = 0;
	}
	c->undo = false;
	c->starved = false;
	c->prompt = true;
	recount(core, c);
}

void core_finished(struct core *core, core_id id, int error, uint64_t duration_ns, uint64_t now)
{
	struct client *c = find(core, id);

	if (!c)
		return;
	if (c->state == CORE_SUSPENDING)
		suspend_finished(core, c, error, duration_ns, now);
	else if (c->state == CORE_RESUMING)
		resume_finished(core, c, error, now);
}

static void not_after(uint64_t *deadline, uint64_t t)
{
	if (t < *deadline)
		*deadline = t;
}

/* When the starvation bound ends this suspension. */
static uint64_t starved_at(const struct core *core, const struct client *c)
{
	uint64_t max = core->config.max_suspended_ns;

	return c->suspended_since + (c->stretch_ns < max ? max - c->stretch_ns : 0);
}

static bool wants_suspend(struct core *core, struct client *c, uint64_t now, uint64_t *deadline)
{
	if (!pressed(core, c)) {
		c->prompt = true;
		return false;
	}
	if (c->capability != CORE_ABLE || c->spared != CORE_SPARED_NOT || c->leaving) {
		c->prompt = false;
		return false;
	}
	if (now < c->run_until) {
		c->prompt = false;
		not_after(deadline, c->run_until);
		return false;
	}
	return true;
}

static bool wants_resume(struct core *core, struct client *c, uint64_t now, uint64_t *deadline)
{
	bool is_pressed = pressed(core, c);
	bool forced = c->leaving || c->undo || c->capability == CORE_REFUSED;

	if (is_pressed && !forced && now < starved_at(core, c)) {
		not_after(deadline, starved_at(core, c));
		return false;
	}
	if (now < c->retry_at) {
		not_after(deadline, c->retry_at);
		return false;
	}
	if (is_pressed || forced)
		c->prompt = false;
	c->starved = is_pressed && !forced;
	return true;
}

static void start_suspend(struct core *core, struct client *c, uint64_t now)
{
	c->ran_ns += now - c->running_since;
	if (c->ran_ns >= core->config.min_run_ns) {
		c->ran_ns = 0;
		c->stretch_ns = 0;
	}
	c->suspended_since = now;
	c->held = c->active;
	c->state = CORE_SUSPENDING;
	recount(core, c);
}

static size_t one_pass(struct core *core, uint64_t now, enum core_verb verb,
		       struct core_action *actions, size_t max, uint64_t *deadline)
{
	enum core_state from = verb == CORE_SUSPEND ? CORE_RUNNING : CORE_SUSPENDED;
	size_t n = 0;

	for (uint32_t slot = 0; slot < core->top; slot++) {
		struct client *c = &core->clients[slot];

		if (!c->id || c->state != from)
			continue;
		if (verb == CORE_SUSPEND ? !wants_suspend(core, c, now, deadline)
					 : !wants_resume(core, c, now, deadline))
			continue;
		if (n == max) {
			*deadline = now;
			break;
		}
		actions[n++] =
			(struct core_action){.client = c->id, .verb = verb, .prompt = c->prompt};
		if (verb == CORE_SUSPEND) {
			start_suspend(core, c, now);
			c->prompt = true;
		} else {
			c->state = CORE_RESUMING;
			recount(core, c);
		}
	}
	return n;
}

size_t core_decide(struct core *core, uint64_t now, struct core_action *actions, size_t max,
		   uint64_t *deadline)
{
	size_t n = 0;
	size_t before;

	/* A suspended client that comes back presses the less urgent again, so
	 * repeat; every client gets one action at most, which ends it. */
	do {
		before = n;
		*deadline = CORE_NEVER;
		n += one_pass(core, now, CORE_SUSPEND, actions + n, max - n, deadline);
		n += one_pass(core, now, CORE_RESUME, actions + n, max - n, deadline);
	} while (n != before && n < max);
	if (n == max)
		*deadline = now; /* there may be more */
	return n;
}

bool core_look(const struct core *core, core_id id, uint64_t now, struct core_view *out)
{
	const struct client *c = find(core, id);

	if (!c)
		return false;
	*out = (struct core_view){
		.state = c->state,
		.capability = c->capability,
		.spared = c->spared,
		.active = c->active != 0,
		.pressed = pressed(core, c),
		.suspends = c->suspends,
		.resumes = c->resumes,
		.failures = c->failures,
		.suspended_ns = c->suspended_ns,
	};
	if (c->state != CORE_RUNNING)
		out->suspended_ns += now - c->suspended_since;
	return true;
}

void core_look_node(const struct core *core, uint32_t gpu_id, bool *urgent, uint32_t *suspended)
{
	*urgent = false;
	*suspended = 0;
	for (uint32_t slot = 0; slot < core->top; slot++) {
		const struct client *c = &core->clients[slot];

		for (uint32_t i = 0; c->id && i < c->node_count; i++) {
			uint32_t nodes = c->state == CORE_RUNNING ? c->active : c->held;

			if (c->nodes[i].gpu_id != gpu_id || !(nodes >> i & 1))
				continue;
			if (c->priority >= 0 &&
			    core->groups[c->nodes[i].group].urgent >> (c->priority + 1))
				*urgent = true;
			if (in_flight(c) || c->state == CORE_SUSPENDED)
				++*suspended;
		}
	}
}
