/* SPDX-License-Identifier: MIT */
/*
 * A mock of the driver's AMDKFD_IOC_DBG_TRAP for tests of the agent (used by mock_kfd.h): one
 * session, new queues (QUEUE_NEW not collected yet) and suspended queues. It enforces those rules
 * of the driver that the agent has to follow, and counts violations.
 *
 * Threads: any; calls are serialised by a lock.
 */
#ifndef KFDSHIM_TESTS_FAKE_TRAP_H
#define KFDSHIM_TESTS_FAKE_TRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "kfd/uapi.h"

/* The fields are atomic because the test reads them while the agent's thread calls. */
struct fake_trap {
	/* results, set by the test */
	_Atomic bool foreign;		  /* another debugger has a session */
	_Atomic bool fail_suspend;	  /* SUSPEND flags each queue as failed, but suspends it */
	void (*_Atomic on_suspend)(void); /* called at the end of SUSPEND */
	void (*_Atomic on_resume)(void);  /* called at the end of RESUME */
	/* state; index: queue id */
	_Atomic bool runtime, session;
	_Atomic uint8_t compute[1024], fresh[1024], suspended[1024];
	/* number of calls; snapshots: those with room for an entry */
	_Atomic unsigned suspends, resumes, snapshots;
	/* number of violations */
	/* a DESTROY_QUEUE of a suspended queue, a runtime disable in a session */
	_Atomic unsigned slept;
	_Atomic unsigned not_suspended; /* a RESUME of a queue that is not suspended */
	_Atomic unsigned unasked;	/* an ENABLE before the runtime was enabled */
};
extern struct fake_trap fake_trap;

/* Executes one DBG_TRAP call. Returns as ioctl() does, with errno. */
int fake_trap_ioctl(struct kfdabi_dbg_trap *args);
/* Update the state after other calls of the driver: CREATE_QUEUE, DESTROY_QUEUE, RUNTIME_ENABLE
 * (`on`: false for a disable). */
void fake_trap_created(uint32_t id, uint32_t type);
void fake_trap_destroyed(uint32_t id);
void fake_trap_runtime(bool on);
/* Ends the session as a DISABLE by another process would: all queues are resumed. */
void fake_trap_end_session(void);
/* Returns the number of suspended queues. */
unsigned fake_trap_attached(void);

#endif
