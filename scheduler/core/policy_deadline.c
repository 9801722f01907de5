// SPDX-License-Identifier: MIT
/* Policy deadline. A gang (clients held together) is held as soon as a more urgent client needs all
 * the time that is left of its objective (the time allowed for a request) for its request. */
#include <string.h>

#include "scheduler/core/policy_ops.h"

/* Returns the learned cost of a suspend and a resume of the gang, in ns; 0: not known yet. */
static uint64_t cost_ns(const struct gang *gang)
{
	return gang->suspend_ns && gang->resume_ns ? gang->suspend_ns + gang->resume_ns : 0;
}

/* Returns from when on, at the latest, the client needs the GPU for itself to meet its objective
 * (slo_ns). It may make no progress beside other work, so the whole duration of its request must
 * fit in from then on. The time to suspend the other clients is not subtracted. Returns 0 (at once)
 * if the client has no objective, or if its requests are not known yet or last too long for it. */
static uint64_t due_of(const struct core_client *c)
{
	uint64_t need = request_ns(c);

	if (!c->slo_ns || !need || need >= c->slo_ns)
		return 0;
	return c->busy_since + c->slo_ns - need;
}

/* Lowers *due to the earliest time (due_of()) of the gang's active clients. */
static void not_after_due_of(const struct core *core, const struct gang *of, uint64_t *due)
{
	FOR_CLIENTS (core, of, c)
		if (client_presses(c))
			not_after(due, due_of(c));
}

static bool update(const struct core *core, struct core_node *node)
{
	uint64_t due[CORE_PRIORITIES];
	bool changed;

	for (int i = 0; i < CORE_PRIORITIES; i++)
		due[i] = CORE_NEVER;
	for (uint32_t at = node->first; node->urgent && at != NO_INDEX;) {
		const struct core_client *c = &core->clients[at / CORE_NODES];
		const struct gang *of = &core->gangs[c->gang];
		uint32_t number = at % CORE_NODES;

		if (node_set_has(&c->counted.urgent, number))
			not_after_due_of(core, of, &due[of->priority]);
		at = c->client_nodes[number].next;
	}
	changed = memcmp(due, node->due_ns, sizeof(due)) != 0;
	memcpy(node->due_ns, due, sizeof(due));
	return changed;
}

/* Lowers *due to the earliest time in node->due_ns of a priority above the gang's. */
static void not_after_dues(const struct core_node *node, const struct gang *gang, uint64_t *due)
{
	for (uint32_t more = node->urgent >> (gang->priority + 1) << (gang->priority + 1); more;
	     more &= more - 1)
		not_after(due, node->due_ns[__builtin_ctz(more)]);
}

/* Returns the time when the gang has to be suspended so that more urgent work on this node meets
 * its objective (slo_ns); 0: at once. Also considers clients of other node entries that can preempt
 * the gang. */
static uint64_t first_due(const struct core *core, const struct core_node *node,
			  const struct gang *gang)
{
	uint64_t due = CORE_NEVER, cost = cost_ns(gang);

	not_after_dues(node, gang, &due);
	if (node->other_rights_prio)
		FOR_NODES (core, node_gpu(core, node), other)
			if (node_presses(other, node))
				not_after_dues(other, gang, &due);
	return due > cost ? due - cost : 0;
}

static enum contention evaluate(const struct core *core, const struct core_node *node,
				const struct gang *gang, uint64_t now, uint64_t *until)
{
	uint64_t due = first_due(core, node, gang);

	if (due <= now)
		return CONTENDED;
	*until = due;
	return UNCONTENDED;
}

const struct policy_ops policy_deadline = {.evaluate = evaluate, .update = update};
