/* SPDX-License-Identifier: MIT */
/*
 * Private part of trap.h, shared by its two source files. trap.c handles the target and the debug
 * session on it. debug_session.c keeps the list of the target's queues and their state, and makes
 * the ioctl that both files use.
 *
 * Threads: as in trap.h. Ownership: a struct trap belongs to the caller of trap_create().
 */
#ifndef KFDSHIM_KFD_DEBUG_SESSION_H
#define KFDSHIM_KFD_DEBUG_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/kfd_abi.h"
#include "scheduler/kfd/trap.h"

/* One compute queue of the target. */
struct trap_queue {
	uint32_t id, gpu_id;
	bool suspended;	     /* suspended, or flagged so by a failed suspend */
	bool spared;	     /* not among the queues of trap_choose(), so never suspended */
	uint32_t exceptions; /* its faults in the last snapshot, in EXCEPTION_FAULTS */
};

struct trap {
	pid_t pid;
	int pidfd;		 /* owned by the caller of trap_create() */
	int kfd_fd;		 /* owned by the caller of trap_attach() */
	int events_fd;		 /* owned; read end of the driver's event pipe; -1: no session */
	bool seized;		 /* this thread traces the target */
	struct trap_cost enable; /* of the last trap_attach() */

	/* Used by debug_session.c only. */
	bool held;	      /* trap_suspend() was called, trap_resume() did not succeed yet */
	bool chosen;	      /* trap_choose() restricts the queues to suspend */
	bool measure;	      /* measure the wait for the mutex before the next suspend */
	uint32_t queue_count; /* entries of queues[] */
	uint32_t new_queues;  /* new queues that snapshots have reported, in total */
	struct trap_queue queues[KFDABI_QUEUE_ARRAY_MAX];
	uint32_t call[KFDABI_QUEUE_ARRAY_MAX]; /* queue ids of a call; the driver ORs in flags */
	struct kfdabi_queue_snapshot snapshot[KFDABI_QUEUE_ARRAY_MAX];
};

/*
 * Makes the ioctl DBG_TRAP for the target; repeats it on EINTR. args->pid is set here.
 * Returns the driver's result (for some operations a number of queues) or a negative errno.
 */
int trap_call(struct trap *trap, struct kfdabi_dbg_trap *args);
/* Probes for a session by an empty queue snapshot. Only -EINVAL means that the target has no
 * session; any other result does not. */
int trap_probe(struct trap *trap);

/*
 * Reads the compute queues of the target into trap->queues and clears their state "new".
 * Returns 0 or a negative errno.
 */
int trap_learn_queues(struct trap *trap);
/* Marks all queues as not suspended, without a driver call. For use after the driver has resumed
 * them itself, for example because the session ended. */
void trap_forget_suspended(struct trap *trap);

#endif
