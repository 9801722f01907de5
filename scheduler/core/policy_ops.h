/* SPDX-License-Identifier: MIT */
/*
 * The interface of the policies. Each policy of common/policies.def defines one `struct policy_ops`
 * in policy_NAME.c. Its functions do no I/O and read no clock; the caller serialises all calls.
 */
#ifndef KFDSHIM_SCHEDULER_CORE_POLICY_OPS_H
#define KFDSHIM_SCHEDULER_CORE_POLICY_OPS_H

#include "scheduler/core/sched_priv.h"

enum contention {
	UNCONTENDED, /* the gang runs beside the more urgent work */
	CONTENDED,   /* the gang is held */
	OBSERVED,    /* the gang runs, and counts as one that policy strict would hold */
};

struct policy_ops {
	/* The decision for a gang on a node where more urgent work is active that can preempt it.
	 * Used if `evaluate` is NULL. */
	enum contention contention;
	/* Returns the decision for one gang at `now` on one node entry (a GPU, for the clients with
	 * the same rights). If the gang is uncontended only until a time, sets *until (CORE_NEVER
	 * on entry) to that time, in ns. NULL: `contention` applies always. */
	enum contention (*evaluate)(const struct core *core, const struct core_node *node,
				    const struct gang *gang, uint64_t now, uint64_t *until);
	/* Updates the data that the policy stores in a node entry. Called after the active clients
	 * there or their objectives have changed. Returns true if the update may change the
	 * contention of gangs of any priority; otherwise the core evaluates only the gangs between
	 * the old and the new highest active priority. NULL: the policy stores nothing. */
	bool (*update)(const struct core *core, struct core_node *node);
	/* true: a contended gang runs for share_percent of each share window */
	bool shares;
};

/* Returns the operations of a policy. Never NULL. */
const struct policy_ops *policy_ops(enum policy policy);

#define POLICY(name, ...) extern const struct policy_ops policy_##name;
#include "common/policies.def"
#undef POLICY

#endif
