// SPDX-License-Identifier: MIT
/* Keeps the GPUs, their node entries (struct core_node) with the lists of clients, and the policies
 * of nodes. */
#include "scheduler/core/policy_ops.h"

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

/* Updates the policies' data in each node entry (struct core_node), because a policy does not
 * update its data there while another policy is in force. */
static void policies_changed(struct core *core)
{
	for (uint32_t i = 0; i < core->node_top; i++)
		if (core->nodes[i].users)
			node_policy_update(core, &core->nodes[i]);
}

void core_configure(struct core *core, const struct core_config *config)
{
	core->config = *config;
	core->policy_count = 0;
	policies_changed(core);
	for (uint32_t i = 0; i < core->gang_top; i++) {
		core->gangs[i].window_off_ns = 0;
		core->gangs[i].debt_ns = 0;
		gang_set_waits(core, &core->gangs[i], false);
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

/* ---- GPUs ---- */

static uint32_t *gpu_chain(struct core *core, uint32_t gpu_id)
{
	return &core->chains[gpu_id * UINT32_C(0x9e3779b1) >> (32 - GPU_CHAIN_BITS)];
}

/* Returns the index of a GPU; NO_INDEX if no client uses it. */
static uint32_t gpu_find(const struct core *core, uint32_t gpu_id)
{
	uint32_t at = *gpu_chain((struct core *)core, gpu_id);

	while (at != NO_INDEX && core->gpus[at].gpu_id != gpu_id)
		at = core->gpus[at].next;
	return at;
}

/* Adds a GPU and returns its index. There is room, because the array has CORE_NODES entries for
 * each client. */
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

/* Adds a node entry (struct core_node) and returns its index. Counts in other_rights_prio the
 * active clients of other node entries that can preempt its clients. */
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
			node_count_other_rights(node, other->urgent, UINT32_MAX);
	core->gpus[gpu].first = at;
	core->granted += rights->can_preempt || rights->preemptible_by;
	return at;
}

/* Returns the index of the node entry (struct core_node) of these rights on a GPU; adds the GPU and
 * the entry if they do not exist. */
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

/* Frees a node entry (struct core_node) that no client uses any more. */
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

/* Adds a place (struct client_node) for a GPU where the client has none. Returns its number, or -1
 * if the client has CORE_NODES places. */
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
