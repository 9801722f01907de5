/* SPDX-License-Identifier: MIT */
/*
 * The memory that worker, watchdog and executor processes share: which targets there are,
 * what is asked about each, and which process serves it. The watchdog maps it before its
 * first fork.
 *
 * Each field has the writer that is named with it, is accessed with the __atomic builtins
 * where another process may write at the same time, and is checked by each reader that uses
 * it as an index. A process may be killed between any two instructions.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_TABLE_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_TABLE_H

#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/executor.h"
#include "scheduler/kfd/device.h"

#define EXECUTOR_PROCESSES 256u
/* In `load`: the process ends because it has no target, and takes no other. */
#define EXECUTOR_LEAVES (1u << 31)

enum executor_process_state {
	EXECUTOR_FREE,
	EXECUTOR_WANTED, /* by the worker; the watchdog is to start it */
	EXECUTOR_RUNS,	 /* by the watchdog, from here on */
	EXECUTOR_KILLED, /* and it has not ended yet */
	EXECUTOR_DIED,	 /* the worker takes its slots back, then it is free */
};

struct executor_process {
	uint32_t state;
	struct executor_tenant tenant; /* worker */
	uint32_t load;	/* worker: slots with this process; the process: EXECUTOR_LEAVES */
	uint32_t calls; /* futex, worker: counts changes of its slots */
};

enum executor_slot_state {
	EXECUTOR_SLOT_FREE,
	EXECUTOR_SLOT_USED,
	EXECUTOR_SLOT_LEFT, /* its client is done with it, and its process was killed */
};

/* One target. */
struct executor {
	_Alignas(64) uint32_t state; /* worker; written last */
	uint32_t process;	     /* worker, as the next five */
	uid_t owner;		     /* of its tenant */
	pid_t pid;
	uint64_t started;  /* as in struct peer */
	uint32_t tries;	   /* to attach */
	uint32_t hung;	   /* watchdog: this one is why the process was killed */
	uint32_t requests; /* futex; what is asked and not taken */
	uint32_t taken;	   /* the process, as all below: it has a thread for it */
	uint32_t busy;	   /* the thread carries out what it has taken */
	uint32_t turns;	   /* counts what it has carried out */
	uint32_t outcome;
	uint32_t runtime; /* 1: enabled */
	int32_t error;	  /* of attaching */
	struct executor_report report;
	char reason[KFD_REASON];
};

struct executor_table {
	uint32_t slot_end; /* worker: slots from here on were never used */
	/* A bit for each slot that has an outcome since the worker looked last: set after the
	 * outcome, by all. It says only where to look, so a bit too many does no harm. */
	uint64_t told[EXECUTOR_SLOTS / 64];
	struct executor_process processes[EXECUTOR_PROCESSES];
	struct executor slots[EXECUTOR_SLOTS];
};

static inline void executor_table_tell(struct executor_table *table, const struct executor *slot)
{
	uint32_t at = (uint32_t)(slot - table->slots);

	__atomic_fetch_or(&table->told[at / 64], UINT64_C(1) << at % 64, __ATOMIC_SEQ_CST);
}

#endif
