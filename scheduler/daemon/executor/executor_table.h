/* SPDX-License-Identifier: MIT */
/*
 * The memory that the worker, the watchdog and executor processes share: the targets, the
 * requests about each, and the process that serves it. The watchdog maps it before its first
 * fork.
 *
 * Each field has the writer that is named with it. It is accessed with the __atomic builtins
 * where another process may write at the same time, and each reader that uses it as an index
 * checks it. A process may be killed between any two instructions.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_TABLE_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_TABLE_H

#include <stdint.h>
#include <sys/types.h>

#include "kfd/device.h"
#include "scheduler/daemon/executor/executor.h"

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
	uint32_t load;	/* worker: number of its slots; the process itself: EXECUTOR_LEAVES */
	uint32_t calls; /* futex; worker: incremented at each change of its slots */
};

enum executor_slot_state {
	EXECUTOR_SLOT_FREE,
	EXECUTOR_SLOT_USED,
	EXECUTOR_SLOT_LEFT, /* freed by the worker, while its killed process lives */
};

/* One target, and its executor thread. */
struct executor {
	_Alignas(64) uint32_t state; /* worker; enum executor_slot_state, written last */
	uint32_t process;	     /* worker; index in processes[] */
	uid_t owner;		     /* worker; owner of its tenant */
	pid_t pid;		     /* worker */
	uint64_t started;	     /* worker; start time, as in struct socket_peer */
	uint32_t tries;		     /* worker; attempts to attach */
	/* watchdog: the driver call on this target is why the process was killed */
	uint32_t hung;
	/* futex; requests that the thread has not taken; any process adds some */
	uint32_t requests;
	uint32_t taken;	  /* its process: 1 once it has a thread for this slot */
	uint32_t busy;	  /* thread: 1 while it carries out a request */
	uint32_t turns;	  /* thread: number of requests carried out */
	uint32_t outcome; /* thread and worker: enum executor_outcome; cleared by the worker */
	uint32_t runtime; /* thread: 1: the target's runtime is enabled */
	int32_t error;	  /* thread: result of attaching */
	/* thread: queues with a fault, as trap_exceptions() reports them; 0: no entry */
	uint64_t exceptions[EXECUTOR_EXCEPTIONS];
	struct executor_report report; /* thread: result of the last action */
	char reason[KFD_REASON];       /* thread: `error` as a sentence */
};

struct executor_table {
	uint32_t slot_end; /* worker: slots from here on were never used */
	/* One bit for each slot that has an outcome since the worker's last check, set by any
	 * process after the outcome. It is only a hint where to search, so a surplus bit does no
	 * harm. */
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
