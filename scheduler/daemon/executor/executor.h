/* SPDX-License-Identifier: MIT */
/*
 * Executors, the worker's side. An executor is a thread that makes all driver calls on one
 * target for as long as the target is registered, because before Linux 6.12.103 only the thread
 * that traces a target can make them. The threads for the targets of one tenant are in one
 * process (executor_run.h), which the watchdog starts (executors.h). So a driver call that
 * cannot be killed blocks the sessions of one tenant only.
 *
 * Threads: the worker's loop only, except executor_send().
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kfd/debug_target.h"

/* Requests to an executor. Any number can be pending, but one action (suspend or resume) at a
 * time. */
enum executor_request {
	EXECUTOR_SUSPEND = 1 << 0, /* suspend all compute queues */
	EXECUTOR_RESUME = 1 << 1,  /* resume what was suspended */
	EXECUTOR_COLLECT = 1 << 2, /* the target's queues have changed */
	EXECUTOR_RUNTIME = 1 << 3, /* its session has an event */
	EXECUTOR_KICK = 1 << 4,	   /* a signal or the end of the target must be handled */
	EXECUTOR_QUIT = 1 << 5,	   /* end the session, which resumes all queues */
	/* the target announces no queues: EXECUTOR_RUNTIME reports them, too */
	EXECUTOR_WATCH = 1 << 6,
	/* with EXECUTOR_SUSPEND: measure the wait for the target's mutex (trap_measure()) */
	EXECUTOR_MEASURE = 1 << 7,
};

/* Outcomes that an executor reports. */
enum executor_outcome {
	EXECUTOR_ATTACHED = 1 << 0,	 /* the session is open */
	EXECUTOR_REFUSED = 1 << 1,	 /* no session; executor_reason() returns why; it ends */
	EXECUTOR_ACTED = 1 << 2,	 /* the action has ended */
	EXECUTOR_NOT_COLLECTED = 1 << 3, /* a new queue could not be suspended */
	EXECUTOR_ENDED = 1 << 4,	 /* the caller must free it */
	/* watched target: its queues or executor_runtime() changed */
	EXECUTOR_CHANGED = 1 << 5,
	EXECUTOR_LOST = 1 << 6,	   /* another process has ended its session */
	EXECUTOR_ABORTED = 1 << 7, /* its process has ended or was killed */
	/* with EXECUTOR_ABORTED: a driver call on this target is the cause */
	EXECUTOR_HUNG = 1 << 8,
};

/* Queues of a target of which faults are reported. */
#define EXECUTOR_EXCEPTIONS 8u

struct executor_report {
	int error; /* result of the action; -ECANCELED: there was nothing to act on */
	struct kfd_debug_cost cost;
};

/* Twice the number of clients, because a slot of a process that cannot be killed stays in use. */
#define EXECUTOR_SLOTS 2048u

/* The tenant of a target: the processes of one user, PID namespace and user namespace. It stays
 * the same tenant while none of its processes is connected. */
struct executor_tenant {
	uid_t uid;
	uid_t owner; /* owner of `uid` (owners.h), to which the limits apply */
	uint64_t pid_ns, user_ns;
};

struct executor;
struct executor_table;

/* Initializes the module. `table` was prepared by the watchdog (executors.h); `want_fd` is the
 * eventfd by which the worker requests a process. Call it before any other function. */
void executor_use(struct executor_table *table, int want_fd);

/*
 * Starts an executor for process `pid`, which first attaches to it. `started` is the start time
 * as in struct socket_peer. `patient`: try for 2 s, while the debugger before is ending.
 *
 * A user that is not trusted can have half of the processes and of the slots, and none of the
 * last sixteenth, which is for root and the daemon's own user. The tenants of an owner that has
 * half of the processes share these.
 *
 * Returns
 *   0, and the executor in *out; executor_free() frees it;
 *   -EBUSY: too many processes of this tenant do not end;
 *   -ENOSPC: no room in the table, or the owner has reached its limit.
 */
int executor_start(pid_t pid, uint64_t started, const struct executor_tenant *tenant, bool patient,
		   struct executor **out);

/* Adds requests (enum executor_request) and wakes the executor. Can be called by any process
 * that has mapped the table. */
void executor_send(struct executor *executor, uint32_t requests);

/* Returns the number of an executor, below EXECUTOR_SLOTS; executors that are not freed have
 * different numbers. */
uint32_t executor_number(const struct executor *executor);

/* Call it when done_fd was written. Aborts the executors whose process has ended or was killed,
 * and calls `on_report` with the number of each executor that may have an outcome since the last
 * call. */
void executor_collect(void (*on_report)(uint32_t number, void *context), void *context);

/* Returns and clears the outcomes (enum executor_outcome). *report is set with EXECUTOR_ACTED,
 * and with EXECUTOR_ATTACHED to the cost of ENABLE or of the first suspend, whichever took longer. */
uint32_t executor_take(struct executor *executor, struct executor_report *report);

/* After EXECUTOR_REFUSED: returns the reason as a sentence, and in *error the result of
 * trap_attach(). Valid until executor_free(). */
const char *executor_reason(struct executor *executor, int *error);

/* Returns true if the target's runtime is enabled, as events of the session have reported. */
bool executor_runtime(const struct executor *executor);

/* Writes the queues of the target with a fault, as trap_exceptions() does: those in the last queue
 * snapshot of the session, which is taken when it begins and when the target's queues change.
 * Returns their number. */
uint32_t executor_exceptions(const struct executor *executor, uint64_t out[EXECUTOR_EXCEPTIONS]);

/* Frees an executor after EXECUTOR_ENDED. */
void executor_free(struct executor *executor);

/* Counts the executor processes, and those of them that were killed and have not ended yet. */
void executor_count(uint32_t *processes, uint32_t *stuck);

#endif
