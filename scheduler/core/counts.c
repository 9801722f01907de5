// SPDX-License-Identifier: MIT
/* Keeps the counts of clients in the node entries (struct core_node) where they have work. If a
 * count changes, queues the gangs (clients held together) whose contention may have changed. */
#include "scheduler/core/policy_ops.h"

/* Returns true if the client is on the GPU, or being resumed. */
static bool present(const struct core_client *c)
{
	return c->state == CORE_RUNNING || c->state == CORE_RESUMING;
}

/* Returns the highest bit of the mask plus one; 0: no bit is set. */
static uint32_t highest(uint32_t mask)
{
	return mask ? 32u - (uint32_t)__builtin_clz(mask) : 0;
}

/* Adds a client to the counts of a priority (up) or removes one, and sets or clears the bit of the
 * priority in the mask. */
static void count(uint32_t *mask, uint16_t counts[CORE_PRIORITIES], int priority, bool up)
{
	counts[priority] += up ? 1 : -1;
	if (counts[priority])
		*mask |= 1u << priority;
	else
		*mask &= ~(1u << priority);
}

/* Queues the gangs on a node entry (struct core_node) whose contention may have changed. A gang is
 * contended by work of higher priority, so these are the gangs between the old highest active
 * priority, in the mask `before`, and the present one. update_all: the policy's data of the node
 * has changed as well (policy_ops.update), so all gangs below the higher of the two priorities are
 * queued. */
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

void node_count_other_rights(struct core_node *node, uint32_t priorities, uint32_t up)
{
	for (; priorities; priorities &= priorities - 1) {
		int priority = __builtin_ctz(priorities);

		count(&node->other_rights_prio, node->other_rights_count, priority,
		      up >> priority & 1);
	}
}

/* Updates what this node entry (struct core_node) adds to the sums of its GPU. The entry counts as
 * urgent if a client has work there with a lower priority than the highest that is active. */
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

bool node_policy_update(const struct core *core, struct core_node *node)
{
	const struct policy_ops *ops = policy_ops(node_policy(core, node)->rule);

	return ops->update && ops->update(core, node);
}

/* To be called when `urgent` of the node entry (struct core_node), or a client that it counts, has
 * changed. Queues the gangs whose contention this may change, and updates the other node entries
 * whose clients can be preempted by clients of this one. before: the old value of `urgent`. */
static void urgent_changed(struct core *core, struct core_node *node, uint32_t before)
{
	bool update_all = node_policy_update(core, node);
	uint32_t other_before;

	queue_concerned(core, node, before | node->other_rights_prio, update_all);
	if (!core->granted)
		return;
	FOR_NODES (core, node_gpu(core, node), other) {
		if (!node_presses(node, other))
			continue;
		other_before = node_contending(other);
		node_count_other_rights(other, before ^ node->urgent, node->urgent);
		node_sum(core, other);
		queue_concerned(core, other, other_before, update_all);
	}
}

/* Updates for which places (client_nodes) the client is counted, in one word of its node sets:
 * replaces the sets in c->counted by the given ones, and adds or subtracts the difference in the
 * node entries. */
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

/* Returns true if the client preempts less urgent work on the nodes where it is active. */
static bool can_contend(const struct core_client *c)
{
	return c->priority >= 0 && !c->victim_only && present(c);
}

bool client_presses(const struct core_client *c)
{
	return can_contend(c) && node_set_any(&c->active);
}

void gang_objective_changed(struct core *core, const struct gang *gang)
{
	FOR_CLIENTS (core, gang, c)
		FOR_CLIENT_NODES(c, &c->counted.urgent, number)
		{
			struct core_node *node = &core->nodes[c->client_nodes[number].node];

			urgent_changed(core, node, node->urgent);
		}
}

/* Returns the word of a node set with the bits of all places (client_nodes) of the client. */
static uint64_t client_nodes_word(const struct core_client *c, uint32_t word)
{
	uint32_t more = c->client_node_count - word * NODE_SET_WORD;

	return more < NODE_SET_WORD ? (UINT64_C(1) << more) - 1 : UINT64_MAX;
}

/* Counts a client without a group, which is the usual case, on the nodes where it has work
 * itself. */
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
 * a client of its gang has work, suspended or not. */
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

/* Counts all clients of a group. The activity of one client counts on the nodes of all of them,
 * because a client (a rank of one job) without work in flight gets some as soon as the other
 * clients have finished theirs. */
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
		gang_objective_changed(core, gang);
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

void client_discount(struct core *core, struct core_client *c)
{
	int priority = gang_of(core, c)->priority;

	for (uint32_t i = 0; i < client_words(c); i++)
		recount(core, c, priority, i, 0, 0, c->counted.absent.words[i]);
}
