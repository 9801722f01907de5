/* SPDX-License-Identifier: MIT */
/*
 * The memory that the worker, the watchdog and executor processes share: the targets, the requests
 * for each target, and the process that serves it. The watchdog maps it before its first fork.
 *
 * Each field has the writer that is named with it. A field is accessed with the __atomic builtins
 * if another process may write it at the same time. A reader that uses a field as an index checks
 * it. A process may be killed between any two instructions.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_TABLE_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_TABLE_H

#include <stdint.h>
#include <sys/types.h>

#include "kfd/debug_target.h"
#include "kfd/device.h"

/* Requests to an executor. Any number can be pending, but one action (suspend or resume) at a
 * time. */
enum executor_request {
	EXECUTOR_SUSPEND = 1 << 0, /* suspend all compute queues */
	EXECUTOR_RESUME = 1 << 1,  /* resume what was suspended */
	EXECUTOR_COLLECT = 1 << 2, /* the target's queues have changed */
	EXECUTOR_RUNTIME = 1 << 3, /* its session has an event */
	EXECUTOR_KICK = 1 << 4,	   /* a signal or the end of the target must be handled */
	EXECUTOR_QUIT = 1 << 5,	   /* end the session, which resumes all queues */
	/* report new queues as session events, because the target (without the shim) does not
	 * announce them */
	EXECUTOR_WATCH = 1 << 6,
	/* with EXECUTOR_SUSPEND: measure the wait for the target's mutex (kfd_debug_measure()) */
	EXECUTOR_MEASURE = 1 << 7,
};

/* Outcomes that an executor reports. */
enum executor_outcome {
	EXECUTOR_ATTACHED = 1 << 0,	 /* the session is open */
	EXECUTOR_REFUSED = 1 << 1,	 /* no session; executor_reason() returns why; it ends */
	EXECUTOR_ACTED = 1 << 2,	 /* the action has ended */
	EXECUTOR_NOT_COLLECTED = 1 << 3, /* a new queue could not be suspended */
	EXECUTOR_ENDED = 1 << 4,	 /* the caller must free it */
	/* after EXECUTOR_WATCH: queues of the target, or executor_runtime(), have changed */
	EXECUTOR_CHANGED = 1 << 5,
	EXECUTOR_LOST = 1 << 6,	   /* another process has ended its session */
	EXECUTOR_ABORTED = 1 << 7, /* its process has ended or was killed */
	/* with EXECUTOR_ABORTED: the cause is a driver call on this target */
	EXECUTOR_HUNG = 1 << 8,
};

/* Maximum number of queues of a target whose faults are reported. */
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
	uid_t owner; /* owner of `uid` (match_rules.h), to which the limits apply */
	uint64_t pid_ns, user_ns;
};

#define EXECUTOR_PROCESSES 256u
/* Flag in `load`: the process ends because it has no target, and accepts no other. */
#define EXECUTOR_LEAVES (1u << 31)

enum executor_process_state {
	EXECUTOR_FREE,
	EXECUTOR_WANTED, /* set by the worker: the watchdog must start the process */
	EXECUTOR_RUNS,	 /* set by the watchdog: the process is running */
	/* set by the watchdog: killed, or requested to end; it has not ended yet */
	EXECUTOR_KILLED,
	/* set by the watchdog: ended; the worker frees its slots, then the entry */
	EXECUTOR_DIED,
};

/* One executor process. */
struct executor_process {
	uint32_t state;		       /* enum executor_process_state */
	struct executor_tenant tenant; /* worker */
	/* number of its slots, set by the worker; EXECUTOR_LEAVES is set by the process itself */
	uint32_t load;
	uint32_t calls; /* futex; the worker increments it at each change of the slots */
};

enum executor_slot_state {
	EXECUTOR_SLOT_FREE,
	EXECUTOR_SLOT_USED,
	EXECUTOR_SLOT_LEFT, /* freed by the worker; its killed process has not ended yet */
};

/* One target, and its executor thread. */
struct executor {
	_Alignas(64) uint32_t state; /* worker; enum executor_slot_state, written last */
	uint32_t process;	     /* worker; index in processes[] */
	uid_t owner;		     /* worker; owner of its tenant */
	pid_t pid;		     /* worker */
	uint64_t started;	     /* set by the worker: start time, as in struct socket_peer */
	uint32_t tries;		     /* worker; attempts to attach */
	/* set to 1 by the watchdog if it killed the process for the driver call on this target */
	uint32_t hung;
	/* futex; requests, set by any process, that the thread has not taken yet */
	uint32_t requests;
	uint32_t taken;	  /* set to 1 by its process when it has a thread for this slot */
	uint32_t busy;	  /* set to 1 by the thread while it carries out a request */
	uint32_t turns;	  /* thread: number of requests carried out */
	uint32_t outcome; /* enum executor_outcome, set by the thread, cleared by the worker */
	uint32_t runtime; /* set to 1 by the thread if the target's runtime is enabled */
	int32_t error;	  /* thread: result of attaching */
	/* set by the thread: queues with a fault, as of trap_exceptions(); 0: no entry */
	uint64_t exceptions[EXECUTOR_EXCEPTIONS];
	struct executor_report report; /* thread: result of the last action */
	struct reason reason;	       /* thread: reason for `error` */
};

struct executor_table {
	uint32_t slot_end; /* set by the worker: slots from here on were never used */
	/* One bit for each slot with an outcome that the worker has not handled yet. Any process
	 * sets it after the outcome. The worker uses it only to find such slots, so a bit without
	 * an outcome does no harm. */
	uint64_t reported[EXECUTOR_SLOTS / 64];
	struct executor_process processes[EXECUTOR_PROCESSES];
	struct executor slots[EXECUTOR_SLOTS];
};

/* Sets the bit of a slot in `reported`. */
static inline void executor_table_notify(struct executor_table *table, const struct executor *slot)
{
	uint32_t at = (uint32_t)(slot - table->slots);

	__atomic_fetch_or(&table->reported[at / 64], UINT64_C(1) << at % 64, __ATOMIC_SEQ_CST);
}

#endif
