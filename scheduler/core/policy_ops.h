/* SPDX-License-Identifier: MIT */
/*
 * What a policy decides: each policy of common/policies.def defines one `struct policy_ops` in
 * policy_NAME.c. Pure. Threads: as sched.h.
 */
#ifndef KFDSHIM_SCHEDULER_CORE_POLICY_OPS_H
#define KFDSHIM_SCHEDULER_CORE_POLICY_OPS_H

#include "scheduler/core/sched_priv.h"

enum contention {
	UNCONTENDED, /* the gang runs beside the more urgent work */
	CONTENDED,   /* the gang is held */
	OBSERVED,    /* the gang runs, and it is counted that policy strict would hold it */
};

struct policy_ops {
	/* What happens to a gang where more urgent work is active that can preempt it. */
	enum contention contention;
	/* Returns what happens to one gang on one node entry at `now`. If the gang is uncontended
	 * only until a time, sets *until (CORE_NEVER on entry) to that time, in ns. NULL:
	 * `contention` applies always. */
	enum contention (*evaluate)(const struct core *core, const struct core_node *node,
				    const struct gang *gang, uint64_t now, uint64_t *until);
	/* Updates what the policy keeps of a node entry after its active clients or their
	 * objectives have changed. Returns true if that may change the contention of gangs of any
	 * priority; otherwise the core evaluates only the gangs between the old and the new highest
	 * active priority. NULL: the policy keeps nothing. */
	bool (*update)(const struct core *core, struct core_node *node);
	/* A contended gang runs for share_percent of each share window. */
	bool shares;
};

/* Returns the operations of a policy. Never NULL. */
const struct policy_ops *policy_ops(enum policy policy);

#define POLICY(name, ...) extern const struct policy_ops policy_##name;
#include "common/policies.def"
#undef POLICY

#endif
