/* SPDX-License-Identifier: MIT */
/*
 * The worker's side of the executors. An executor is a thread that makes all driver calls on
 * one target for as long as the target is known, because before Linux 6.12.103 only the
 * thread that traces it may. The threads of one tenant's targets are in one process
 * (executor_run.h), which the watchdog starts (executors.h): a driver call that cannot be
 * killed then keeps the sessions of one tenant only.
 *
 * Threads: all functions are for the loop.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/kfd/trap.h"

/* What it may be asked, any number at once, but one action at a time. */
enum executor_request {
	EXECUTOR_SUSPEND = 1 << 0,
	EXECUTOR_RESUME = 1 << 1,
	EXECUTOR_COLLECT = 1 << 2, /* its queues have changed */
	EXECUTOR_RUNTIME = 1 << 3, /* its session has an event */
	EXECUTOR_KICK = 1 << 4,	   /* a signal, or its end, is there to be served */
	EXECUTOR_QUIT = 1 << 5,
	EXECUTOR_WATCH = 1 << 6, /* nobody tells of its queues: EXECUTOR_RUNTIME for them, too */
};

/* What it has to tell. */
enum executor_outcome {
	EXECUTOR_ATTACHED = 1 << 0,
	EXECUTOR_REFUSED = 1 << 1, /* executor_reason() says why; it ends */
	EXECUTOR_ACTED = 1 << 2,
	EXECUTOR_NOT_COLLECTED = 1 << 3, /* a new queue could not be suspended */
	EXECUTOR_ENDED = 1 << 4,	 /* to be freed */
	EXECUTOR_CHANGED = 1 << 5,	 /* watched: its queues, or executor_runtime() */
	EXECUTOR_LOST = 1 << 6,		 /* its session has ended, not by us */
	EXECUTOR_ABORTED = 1 << 7,	 /* it ends because its process has ended or was killed */
	EXECUTOR_HUNG = 1 << 8,		 /* the same, and a driver call on this target is why */
};

struct executor_report {
	int error; /* of the action; -ECANCELED: there was nothing to act on */
	struct trap_cost cost;
};

/* Twice the clients, because a slot of a process that cannot be ended stays in use. */
#define EXECUTOR_SLOTS 2048u

/* The tenant of a target: processes of one user, pid namespace and user namespace. It stays
 * the same tenant while none of its processes is connected. */
struct executor_tenant {
	uid_t uid;
	uid_t owner; /* the owner of `uid` (owners.h), to which the limits apply */
	uint64_t pid_ns, user_ns;
};

struct executor;
struct executor_table;

/* Before any other function: the table as the watchdog has prepared it (executors.h), and the
 * eventfd by which the watchdog is asked for a process. */
void executor_use(struct executor_table *table, int want_fd);

/* Begins with attaching; patient: waits for a predecessor that is dying. `started` as in
 * struct peer. 0; -EBUSY: too many processes of this tenant hang; -ENOSPC: no room, because all
 * is in use or because the owner has what one user can have: half of the processes and of the
 * slots, and none of the last sixteenth, which is for root and the daemon's own user. The
 * tenants of an owner with half of the processes share these. */
int executor_start(pid_t pid, uint64_t started, const struct executor_tenant *tenant, bool patient,
		   struct executor **out);
/* For any process that has mapped the table. */
void executor_ask(struct executor *executor, uint32_t requests);
/* Its number, below EXECUTOR_SLOTS; no two that are not freed have the same. */
uint32_t executor_number(const struct executor *executor);
/* When done_fd was written: ends the executors whose process has ended or was killed, and calls
 * `told` for the number of each that may have something to tell since the last call. */
void executor_collect(void (*told)(uint32_t number, void *context), void *context);
/* Takes the outcome; the report is of EXECUTOR_ACTED, or of EXECUTOR_ATTACHED: what the
 * first suspend cost. */
uint32_t executor_take(struct executor *executor, struct executor_report *report);
/* Once refused: why, as a sentence and as trap_attach() says. */
const char *executor_reason(struct executor *executor, int *error);
/* Is its runtime enabled? As the session's events have told. */
bool executor_runtime(const struct executor *executor);
/* Once ended. */
void executor_free(struct executor *executor);
/* How many processes there are, and of them: killed, and not ended yet. */
void executor_count(uint32_t *processes, uint32_t *stuck);

#endif
