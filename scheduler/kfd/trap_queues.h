/* SPDX-License-Identifier: MIT */
/*
 * What the two halves of trap.h share: trap.c has the target and the session on it,
 * trap_queues.c its queues, which of them stand, and the driver's call that both use.
 * Threads: as in trap.h.
 */
#ifndef KFDSHIM_SCHEDULER_KFD_TRAP_QUEUES_H
#define KFDSHIM_SCHEDULER_KFD_TRAP_QUEUES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/kfd_abi.h"

struct trap_queue {
	uint32_t id, gpu_id;
	bool suspended; /* or flagged so by a failure */
	bool spared;	/* others were chosen */
};

struct trap {
	pid_t pid;
	int pidfd;
	int kfd_fd;
	int events_fd; /* -1: no session */
	bool seized;

	/* trap_queues.c's */
	bool held;   /* the process is meant to be suspended */
	bool chosen; /* of its queues, some */
	bool slow;   /* the last suspend was not quick: the next is measured more closely */
	uint32_t queue_count;
	uint32_t new_queues; /* seen by snapshots, in total */
	struct trap_queue queues[KFDABI_QUEUE_ARRAY_MAX];
	uint32_t call[KFDABI_QUEUE_ARRAY_MAX]; /* the driver writes into it */
	struct kfdabi_queue_snapshot snapshot[KFDABI_QUEUE_ARRAY_MAX];
};

/* DBG_TRAP on the target. The driver's result, which may be a number of queues, or a
 * negative errno. */
int trap_call(struct trap *trap, struct kfdabi_dbg_trap *args);
/* Is there a session? -EINVAL says no, and nothing else does. */
int trap_probe(struct trap *trap);

/* Learns which compute queues there are, and clears their being new. 0 or a negative
 * errno. */
int trap_learn_queues(struct trap *trap);
/* The driver has resumed all, or ended the session, which does that. */
void trap_forget_suspended(struct trap *trap);

#endif
