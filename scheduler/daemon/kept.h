/* SPDX-License-Identifier: MIT */
/*
 * What people ordered and no process says of itself: leases, priorities, policies. It
 * stands in the page that watchdog and worker share, so that the next worker has it;
 * it ends with the daemon.
 *
 * The worker writes, one at a time; it may be killed at any instruction, so `used`
 * is written last, and an entry that has it is whole. What was being written then is an
 * order that nobody was told to be done. A process is named by pid and start time, so no
 * order is ever inherited by another one. All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_KEPT_H
#define KFDSHIM_SCHEDULER_DAEMON_KEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/core/core.h"

#define KEPT_PROCESSES 1024u
#define KEPT_POLICIES (CORE_POLICIES + 1) /* and that of all others */

struct kept_process {
	uint32_t used;
	pid_t pid;
	uint64_t started;  /* as in struct peer */
	int32_t priority;  /* PRIORITY_OWN: nobody ordered one */
	uint64_t lease_ns; /* suspended until then (CLOCK_MONOTONIC); 0: not */
};

struct kept_policy {
	uint32_t used;
	uint32_t gpu_id; /* 0: of all nodes without one of their own */
	struct core_policy policy;
};

struct kept {
	struct kept_process processes[KEPT_PROCESSES];
	struct kept_policy policies[KEPT_POLICIES];
};

/* NULL: nothing is kept of it. */
const struct kept_process *kept_find(const struct kept *kept, pid_t pid, uint64_t started);
/* Instead of what was kept of it; nothing of note in it: forgets it. Makes room by
 * forgetting processes that have ended; false: there is none. */
bool kept_store(struct kept *kept, const struct kept_process *process);
void kept_forget(struct kept *kept, pid_t pid, uint64_t started);
/* The same for a node; false: no room. */
bool kept_store_policy(struct kept *kept, uint32_t gpu_id, const struct core_policy *policy);

#endif
