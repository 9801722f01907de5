/* SPDX-License-Identifier: MIT */
/*
 * State that control requests have set, and that a new worker cannot get from the processes: leases
 * (lease.h), priorities and policies. It is part of the page that the watchdog and the worker share
 * (struct shared_state), so that the next worker continues with it. It ends with the daemon.
 *
 * The worker writes it, and there is one worker at a time. The worker may be killed at any
 * instruction. Therefore `used` is written last, and an entry with `used` set is complete. An entry
 * that was being written when the worker was killed belongs to a request that has not been
 * confirmed to its sender. A process is named by pid and start time, so that another process with
 * the same pid never inherits a request. lease.c has the functions.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_SAVED_STATE_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_SAVED_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/core/sched.h"

#define SAVED_PROCESSES 1024u
#define SAVED_POLICIES (CORE_POLICIES + 1) /* one a node, and the default policy */

struct saved_process {
	uint32_t used; /* 1: the entry is valid; written last */
	pid_t pid;
	uint64_t started; /* start time, as in struct socket_peer */
	int32_t priority; /* PRIORITY_OWN: no priority was set by a request */
	/* end of the suspension, CLOCK_MONOTONIC ns; 0: not suspended by a request */
	uint64_t lease_ns;
};

struct saved_policy {
	uint32_t used;	 /* 1: the entry is valid; written last */
	uint32_t gpu_id; /* 0: the policy of all nodes without their own */
	struct core_policy policy;
};

struct saved_state {
	struct saved_process processes[SAVED_PROCESSES];
	struct saved_policy policies[SAVED_POLICIES];
};

/* Returns the entry of process `pid` that started at `started`, or NULL. The pointer is valid
 * until the entry is stored or forgotten. */
const struct saved_process *saved_find(const struct saved_state *saved, pid_t pid,
				       uint64_t started);

/*
 * Replaces the entry of a process. A process that has neither a priority nor a lease is removed. If
 * the table is full, the entry of a process that has ended is reused; this needs an answer of
 * kfdschedd-read, so the caller runs between reader_begin() and reader_end() (reader.h).
 *
 * Returns false if there is no room, or if that answer has not arrived yet (reader_waits()).
 */
bool saved_store(struct saved_state *saved, const struct saved_process *process);

/* Removes the entry of a process; does nothing if there is none. */
void saved_forget(struct saved_state *saved, pid_t pid, uint64_t started);

/* Replaces the policy of node `gpu_id` (0: of all nodes without their own). Returns false if
 * there is no room. */
bool saved_store_policy(struct saved_state *saved, uint32_t gpu_id,
			const struct core_policy *policy);

#endif
