/* SPDX-License-Identifier: MIT */
/*
 * DBG_TRAP of the driver that tests of the agent play (mock_kfd.h): one session,
 * queues that are new, and queues that are suspended. It keeps the driver's
 * rules that the agent must respect, and counts where it does not.
 */
#ifndef KFDSHIM_TESTS_FAKE_TRAP_H
#define KFDSHIM_TESTS_FAKE_TRAP_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/kfd_abi.h"

/* Atomic: the test looks while the agent's thread calls. */
struct fake_trap {
	/* what it answers */
	_Atomic bool foreign;	   /* somebody else has a session */
	_Atomic bool fail_suspend; /* SUSPEND flags every queue as an error, and as suspended */
	void (*_Atomic on_suspend)(void); /* runs at the end of SUSPEND */
	void (*_Atomic on_resume)(void);  /* ... of RESUME */
	/* what there is */
	_Atomic bool runtime, session;
	_Atomic uint8_t compute[1024], fresh[1024], suspended[1024];
	/* what it was asked */
	_Atomic unsigned suspends, resumes, snapshots;
	/* what may never be */
	_Atomic unsigned slept; /* DESTROY_QUEUE of a suspended queue, disable in a session */
	_Atomic unsigned not_suspended; /* RESUME of a queue that was not */
	_Atomic unsigned unasked;	/* a session before the runtime was enabled */
};
extern struct fake_trap fake_trap;

int fake_trap_ioctl(struct kfdabi_dbg_trap *args);
/* What other calls change. */
void fake_trap_created(uint32_t id, uint32_t type);
void fake_trap_destroyed(uint32_t id);
void fake_trap_runtime(bool on);
/* Somebody else's DISABLE. */
void fake_trap_end_session(void);
/* How many queues are suspended. */
unsigned fake_trap_standing(void);

#endif
