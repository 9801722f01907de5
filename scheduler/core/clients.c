// SPDX-License-Identifier: MIT
/* Clients, their gangs, and the node entries where they have work; the functions that report
 * events. Decisions are made in decide.c. */
#include <stdlib.h>
#include <string.h>

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

static struct gang *gang_of(const struct core *core, const struct core_client *c)
{
	return &core->gangs[c->gang];
}

/* ---- counts ---- */

/* Is the client on the GPU, or being resumed? */
static bool present(const struct core_client *c)
{
	return c->state == CORE_RUNNING || c->state == CORE_RESUMING;
}

/* The highest bit of the mask plus one; 0: no bit is set. */
static uint32_t highest(uint32_t mask)
{
	return mask ? 32u - (uint32_t)__builtin_clz(mask) : 0;
}

/* Counts one more or one fewer of a priority, and keeps its bit in the mask. */
static void count(uint32_t *mask, uint16_t counts[CORE_PRIORITIES], int priority, bool up)
{
	counts[priority] += up ? 1 : -1;
	if (counts[priority])
		*mask |= 1u << priority;
	else
		*mask &= ~(1u << priority);
}

/* Queues the gangs on a node entry whose contention may have changed. A gang of priority p is
 * contended while work above p is active there, so these are the gangs between the old and the new
 * highest priority (`before`: the old mask). update_all: what the policy keeps of the node has
 * changed as well (policy_ops.update), so these are all gangs below the higher of both. */
static void queue_concerned(struct core *core, const struct core_node *node, uint32_t before,
			    bool update_all)
{
	uint32_t a = highest(before), b = highest(node_contending(node));
	uint32_t low = a < b ? a : b, high = a < b ? b : a;
	const struct core_client *c;
	struct gang *gang;

	if (update_all)
		low = 0;
	if (low == high)
		return;
	for (uint32_t at = node->first; at != NO_INDEX;
	     at = c->client_nodes[at % CORE_NODES].next) {
		c = &core->clients[at / CORE_NODES];
		gang = gang_of(core, c);
		if (gang->priority >= 0 && (uint32_t)gang->priority + 1 >= low &&
		    (uint32_t)gang->priority + 1 < high)
			gang_queue(core, gang);
	}
}

bool node_presses(const struct core_node *node, const struct core_node *other)
{
	return node != other && (node->rights.tenant == other->rights.tenant ||
				 (node->rights.can_preempt & other->rights.preemptible_by));
}

/* Counts the changed priorities of another node entry in this one, whose clients they can preempt.
 * up: the bits that are set now. */
static void count_other_rights(struct core_node *node, uint32_t priorities, uint32_t up)
{
	for (; priorities; priorities &= priorities - 1) {
		int priority = __builtin_ctz(priorities);

		count(&node->other_rights_prio, node->other_rights_count, priority,
		      up >> priority & 1);
	}
}

/* Updates the part of this node entry in the sums of its GPU. It is urgent if a client has work
 * there with a lower priority than the highest that is active. */
static void node_sum(struct core *core, struct core_node *node)
{
	bool urgent = node->working &&
		      highest(node_contending(node)) > (uint32_t)__builtin_ctz(node->working) + 1;
	struct core_gpu *gpu = node_gpu(core, node);

	gpu->urgent += (uint32_t)urgent - (uint32_t)node->summed_urgent;
	gpu->suspended += node->suspended - node->summed_suspended;
	node->summed_urgent = urgent;
	node->summed_suspended = node->suspended;
}

/* Returns true if all gangs on the node entry have to be evaluated again. */
static bool policy_update(const struct core *core, struct core_node *node)
{
	const struct policy_ops *ops = policy_ops(node_policy(core, node)->rule);

	return ops->update && ops->update(core, node);
}

/* To be called when `urgent` of a node entry has changed, or the clients behind it. Updates the
 * node entries whose clients they can preempt, and queues the gangs that are concerned. */
static void urgent_changed(struct core *core, struct core_node *node, uint32_t before)
{
	bool update_all = policy_update(core, node);
	uint32_t other_before;

	queue_concerned(core, node, before | node->other_rights_prio, update_all);
	if (!core->granted)
		return;
	FOR_NODES (core, node_gpu(core, node), other) {
		if (!node_presses(node, other))
			continue;
		other_before = node_contending(other);
		count_other_rights(other, before ^ node->urgent, node->urgent);
		node_sum(core, other);
		queue_concerned(core, other, other_before, update_all);
	}
}

/* Changes the counts of the places in one word of the client's sets: from those in c->counted to
 * the given ones. */
static void recount(struct core *core, struct core_client *c, int priority, uint32_t word,
		    uint64_t urgent, uint64_t working, uint64_t absent)
{
	struct node_counts *counted = &c->counted;
	uint64_t urgent_new = counted->urgent.words[word] ^ urgent;
	uint64_t working_new = counted->working.words[word] ^ working;
	uint64_t absent_new = counted->absent.words[word] ^ absent;

	counted->urgent.words[word] = urgent;
	counted->working.words[word] = working;
	counted->absent.words[word] = absent;
	core->turns += (urgent_new | working_new | absent_new) != 0;
	for (uint64_t left = urgent_new | working_new | absent_new; left; left &= left - 1) {
		uint32_t at = word * NODE_SET_WORD + (uint32_t)__builtin_ctzll(left), before;
		struct core_node *node = &core->nodes[c->client_nodes[at].node];
		uint64_t bit = left & -left;

		if (absent_new & bit)
			node->suspended += absent & bit ? 1u : -1u;
		if (working_new & bit)
			count(&node->working, node->working_count, priority, working & bit);
		if (working_new & bit & ~working && node->suspended)
			turn_ends(core, node, priority);
		if (urgent_new & bit) {
			before = node->urgent;
			count(&node->urgent, node->urgent_count, priority, urgent & bit);
			urgent_changed(core, node, before);
		}
		node_sum(core, node);
	}
}

/* Does the client preempt less urgent work where it is active? */
static bool can_contend(const struct core_client *c)
{
	return c->priority >= 0 && !c->victim_only && present(c);
}

bool client_presses(const struct core_client *c)
{
	return can_contend(c) && node_set_any(&c->active);
}

/* To be called when the gang's active clients or their objectives have changed, because a policy
 * may depend on both. */
static void objective_changed(struct core *core, const struct gang *gang)
{
	FOR_CLIENTS (core, gang, c)
		FOR_CLIENT_NODES(c, &c->counted.urgent, number)
		{
			struct core_node *node = &core->nodes[c->client_nodes[number].node];

			urgent_changed(core, node, node->urgent);
		}
}

/* The word with the bits of all places of the client. */
static uint64_t client_nodes_word(const struct core_client *c, uint32_t word)
{
	uint32_t more = c->client_node_count - word * NODE_SET_WORD;

	return more < NODE_SET_WORD ? (UINT64_C(1) << more) - 1 : UINT64_MAX;
}

/* Counts a client of no group, which is the usual case: only where its own work is. */
static void recount_alone(struct core *core, struct core_client *c, int priority)
{
	const struct node_set *works = client_working(c);
	bool can_preempt = can_contend(c);

	for (uint32_t i = 0; i < client_words(c); i++)
		recount(core, c, priority, i, can_preempt ? c->active.words[i] : 0,
			c->priority >= 0 ? works->words[i] : 0,
			c->state == CORE_RUNNING ? 0 : c->held.words[i]);
}

/* Counts a client of a group. urgent: a client of its gang preempts (client_presses()); working:
 * one has work, suspended or not. */
static void recount_member(struct core *core, struct core_client *c, int priority, bool urgent,
			   bool working)
{
	urgent = urgent && can_contend(c);
	working = working && c->priority >= 0;
	for (uint32_t i = 0; i < client_words(c); i++) {
		uint64_t all = client_nodes_word(c, i);

		recount(core, c, priority, i, urgent ? all : 0, working ? all : 0,
			c->state == CORE_RUNNING ? 0 : c->held.words[i]);
	}
}

/* The activity of one client of a group counts on the nodes of all of them, because a rank that has
 * no work in flight gets some as soon as the others are done. */
static void recount_group(struct core *core, const struct gang *gang)
{
	bool urgent = false, working = false, others = false;

	FOR_CLIENTS (core, gang, c) {
		bool presses = client_presses(c);

		others |= c->presses != presses;
		c->presses = presses;
		urgent |= presses;
		working |= c->priority >= 0 && node_set_any(client_working(c));
	}
	FOR_CLIENTS (core, gang, c)
		recount_member(core, c, gang->priority, urgent, working);
	if (others)
		objective_changed(core, gang);
}

void gang_recount(struct core *core, struct gang *gang)
{
	if (gang->group)
		recount_group(core, gang);
	else
		recount_alone(core, &core->clients[gang->first], gang->priority);
}

void client_recount(struct core *core, struct core_client *c)
{
	gang_recount(core, gang_of(core, c));
}

void client_uncount(struct core *core, struct core_client *c)
{
	int priority = gang_of(core, c)->priority;

	c->active = c->held = (struct node_set){0};
	c->presses = false;
	for (uint32_t i = 0; i < client_words(c); i++)
		recount(core, c, priority, i, 0, 0, 0);
}

/* Takes the client out of the counts that are kept by priority. */
static void discount(struct core *core, struct core_client *c)
{
	int priority = gang_of(core, c)->priority;

	for (uint32_t i = 0; i < client_words(c); i++)
		recount(core, c, priority, i, 0, 0, c->counted.absent.words[i]);
}

/* ---- gangs ---- */

void gang_prioritise(struct core *core, struct gang *gang)
{
	int priority = CORE_PRIORITY_UNSET;

	FOR_CLIENTS (core, gang, c)
		if (c->priority > priority)
			priority = c->priority;
	if (priority != gang->priority) {
		/* Leave the counts of the old priority, then enter those of the new one. */
		FOR_CLIENTS (core, gang, c)
			discount(core, c);
		gang->priority = priority;
		gang->waits = false;
		gang_recount(core, gang);
	}
	gang_queue(core, gang);
}

void gang_left(struct core *core, struct gang *gang)
{
	gang_recount(core, gang);
	objective_changed(core, gang);
	gang_prioritise(core, gang);
}

struct gang *gang_find(const struct core *core, const struct core_rights *rights, uint32_t group)
{
	for (uint32_t at = 0; at < core->gang_top; at++) {
		struct gang *gang = &core->gangs[at];

		if (gang->first != NO_INDEX && gang->group == group &&
		    same_rights(&gang->rights, rights))
			return gang;
	}
	return NULL;
}

struct gang *gang_new(struct core *core)
{
	uint32_t at = 0;
	struct gang *gang;

	/* There is room, because each gang in use has a client. */
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

void client_link(struct core *core, struct core_client *c, struct gang *gang)
{
	c->gang = (uint32_t)(gang - core->gangs);
	c->next = gang->first;
	gang->first = (uint32_t)(c - core->clients);
}

void client_unlink(struct core *core, struct core_client *c)
{
	struct gang *gang = gang_of(core, c);
	uint32_t *link = &gang->first;

	while (*link != (uint32_t)(c - core->clients))
		link = &core->clients[*link].next;
	*link = c->next;
	if (gang->first == NO_INDEX)
		timer_set(core, gang, CORE_NEVER);
}

/* ---- policies of nodes ---- */

static const struct core_policy *policy_of(const struct core *core, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < core->policy_count; i++)
		if (core->policies[i].gpu_id == gpu_id)
			return &core->policies[i].policy;
	return &core->config.policy;
}

const struct core_policy *node_policy(const struct core *core, const struct core_node *node)
{
	return policy_of(core, node->gpu_id);
}

/* ---- GPUs ---- */

static uint32_t *gpu_chain(struct core *core, uint32_t gpu_id)
{
	return &core->chains[gpu_id * UINT32_C(0x9e3779b1) >> (32 - GPU_CHAIN_BITS)];
}

/* The index of a GPU; no index if no client uses it. */
static uint32_t gpu_find(const struct core *core, uint32_t gpu_id)
{
	uint32_t at = *gpu_chain((struct core *)core, gpu_id);

	while (at != NO_INDEX && core->gpus[at].gpu_id != gpu_id)
		at = core->gpus[at].next;
	return at;
}

/* Adds a GPU. There is room, because the array has CORE_NODES entries for each client. */
static uint32_t gpu_begin(struct core *core, uint32_t gpu_id)
{
	uint32_t at = core->free_gpu, *chain = gpu_chain(core, gpu_id);

	if (at == NO_INDEX)
		at = core->gpu_top++;
	else
		core->free_gpu = core->gpus[at].next;
	core->gpus[at] = (struct core_gpu){.gpu_id = gpu_id, .first = NO_INDEX, .next = *chain};
	*chain = at;
	return at;
}

/* Frees a GPU that has no node entry any more. */
static void gpu_end(struct core *core, struct core_gpu *gpu)
{
	uint32_t at = (uint32_t)(gpu - core->gpus), *link = gpu_chain(core, gpu->gpu_id);

	while (*link != at)
		link = &core->gpus[*link].next;
	*link = gpu->next;
	gpu->next = core->free_gpu;
	core->free_gpu = at;
}

/* ---- nodes ---- */

/* Adds a node entry. Active clients of other rights that can preempt there are counted at once. */
static uint32_t node_begin(struct core *core, const struct core_rights *rights, uint32_t gpu)
{
	uint32_t at = core->free_node;
	struct core_node *node;

	if (at == NO_INDEX)
		at = core->node_top++;
	else
		core->free_node = core->nodes[at].next;
	node = &core->nodes[at];
	*node = (struct core_node){.rights = *rights,
				   .gpu_id = core->gpus[gpu].gpu_id,
				   .gpu = gpu,
				   .next = core->gpus[gpu].first,
				   .first = NO_INDEX};
	for (int i = 0; i < CORE_PRIORITIES; i++)
		node->due_ns[i] = CORE_NEVER;
	FOR_NODES (core, &core->gpus[gpu], other)
		if (node_presses(other, node))
			count_other_rights(node, other->urgent, UINT32_MAX);
	core->gpus[gpu].first = at;
	core->granted += rights->can_preempt || rights->preemptible_by;
	return at;
}

/* The index of the node entry of these rights on a GPU; adds both where they do not exist. */
static uint32_t node_for(struct core *core, const struct core_rights *rights, uint32_t gpu_id)
{
	uint32_t gpu = gpu_find(core, gpu_id);

	if (gpu == NO_INDEX)
		gpu = gpu_begin(core, gpu_id);
	FOR_NODES (core, &core->gpus[gpu], node)
		if (same_rights(&node->rights, rights))
			return (uint32_t)(node - core->nodes);
	return node_begin(core, rights, gpu);
}

/* Frees a node entry that no client uses any more. */
static void node_end(struct core *core, struct core_node *node)
{
	uint32_t at = (uint32_t)(node - core->nodes);
	struct core_gpu *gpu = node_gpu(core, node);
	uint32_t *link = &gpu->first;

	while (*link != at)
		link = &core->nodes[*link].next;
	*link = node->next;
	node->next = core->free_node;
	core->free_node = at;
	core->granted -= node->rights.can_preempt || node->rights.preemptible_by;
	if (gpu->first == NO_INDEX)
		gpu_end(core, gpu);
}

static struct client_node *client_node_at(struct core *core, uint32_t at)
{
	return &core->clients[at / CORE_NODES].client_nodes[at % CORE_NODES];
}

static uint32_t slot_of(const struct core *core, const struct core_client *c)
{
	return (uint32_t)(c - core->clients);
}

/* Adds a place for a GPU where the client has none. Returns its number, or -1. */
static int node_list_add(struct core *core, struct core_client *c, uint32_t gpu_id)
{
	uint32_t at = CLIENT_NODE(slot_of(core, c), c->client_node_count);
	struct client_node *client_node;
	struct core_node *node;

	if (c->client_node_count == CORE_NODES)
		return -1;
	client_node = &c->client_nodes[c->client_node_count];
	client_node->node = node_for(core, &gang_of(core, c)->rights, gpu_id);
	node = &core->nodes[client_node->node];
	node->users++;
	client_node->previous = NO_INDEX;
	client_node->next = node->first;
	if (node->first != NO_INDEX)
		client_node_at(core, node->first)->previous = at;
	node->first = at;
	return (int)c->client_node_count++;
}

int client_find_node(struct core *core, struct core_client *c, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < c->client_node_count; i++)
		if (core->nodes[c->client_nodes[i].node].gpu_id == gpu_id)
			return (int)i;
	return node_list_add(core, c, gpu_id);
}

void client_leave_nodes(struct core *core, struct core_client *c)
{
	for (uint32_t i = 0; i < c->client_node_count; i++) {
		const struct client_node *client_node = &c->client_nodes[i];
		struct core_node *node = &core->nodes[client_node->node];

		if (client_node->previous == NO_INDEX)
			node->first = client_node->next;
		else
			client_node_at(core, client_node->previous)->next = client_node->next;
		if (client_node->next != NO_INDEX)
			client_node_at(core, client_node->next)->previous = client_node->previous;
		if (--node->users == 0)
			node_end(core, node);
	}
	c->client_node_count = 0;
}

/* ---- events ---- */

/* Updates what the policies keep of each node entry, because a policy did not update it while
 * another one was in force there. */
static void policies_changed(struct core *core)
{
	for (uint32_t i = 0; i < core->node_top; i++)
		if (core->nodes[i].users)
			policy_update(core, &core->nodes[i]);
}

void core_configure(struct core *core, const struct core_config *config)
{
	core->config = *config;
	core->policy_count = 0;
	policies_changed(core);
	for (uint32_t i = 0; i < core->gang_top; i++) {
		core->gangs[i].window_off_ns = 0;
		core->gangs[i].debt_ns = 0;
		core->gangs[i].waits = false;
		core->gangs[i].over_ns[false] = core->gangs[i].over_ns[true] = 0;
		gang_queue(core, &core->gangs[i]);
	}
}

bool core_set_policy(struct core *core, uint32_t gpu_id, const struct core_policy *policy)
{
	uint32_t at = 0;

	while (at < core->policy_count && core->policies[at].gpu_id != gpu_id)
		at++;
	if (gpu_id && at == CORE_POLICIES)
		return false;
	if (!gpu_id) {
		core->config.policy = *policy;
	} else {
		core->policies[at].gpu_id = gpu_id;
		core->policies[at].policy = *policy;
		if (at == core->policy_count)
			core->policy_count++;
	}
	policies_changed(core);
	for (uint32_t i = 0; i < core->gang_top; i++)
		gang_queue(core, &core->gangs[i]);
	return true;
}

struct core_policy core_policy_of(const struct core *core, uint32_t gpu_id)
{
	return *policy_of(core, gpu_id);
}

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
	client_recount(core, c); /* the client may have got a priority, or lost it */
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
	objective_changed(core, gang_of(core, c));
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

/* ---- queries ---- */

void core_view_node(const struct core *core, uint32_t gpu_id, bool *urgent, uint32_t *suspended)
{
	uint32_t gpu;

	*urgent = false;
	*suspended = 0;
	gpu = gpu_find(core, gpu_id);
	if (gpu == NO_INDEX)
		return;
	*suspended = core->gpus[gpu].suspended;
	*urgent = core->gpus[gpu].urgent > 0;
}
