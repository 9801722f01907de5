/* SPDX-License-Identifier: MIT */
/*
 * A debug session of this process on itself (DBG_TRAP; the driver asks for no
 * ptrace right when target and caller are one): how its compute queues are
 * taken off the GPU and given back from within.
 *
 * The driver's rules that shape this (kfd_debug.c, kfd_chardev.c and
 * kfd_device_queue_manager.c of Linux 6.5 to 7.3):
 * - ENABLE succeeds when nothing was armed: runtime state 1 alone counts.
 * - A queue is born "new"; SUSPEND skips it, marked INVALID, until a snapshot
 *   has cleared that.
 * - A suspended queue's DESTROY_QUEUE sleeps until RESUME; a runtime disable
 *   with a session open sleeps until a debugger answers, so it has to be closed
 *   before.
 *
 * Threads: one call at a time (the lock of hold.c), but self_is_open and
 * self_is_suspended, which are for any thread. No call allocates.
 */
#ifndef KFDSHIM_SHIM_SELF_H
#define KFDSHIM_SHIM_SELF_H

#include <stdbool.h>

#include "preload/agent.h"

/* Opens the session; the device is kept (device.h), and the runtime has been enabled.
 * 0, also if it is open; or a negative errno, and nothing is left behind. -EALREADY: somebody else's session is there. */
int self_open(const struct kfdshim_host *host);
/* Resumes, and ends it. */
void self_close(void);
bool self_is_open(void);

/* All compute queues in one call. 0, or a negative errno; self_resume() after
 * that too. -EIO: the firmware failed; -EBUSY: a queue stays new; -EINVAL, and it is
 * not open any more: somebody else has ended the session. */
int self_suspend(void);
/* Exactly what was suspended. 0 also if the session is gone. */
int self_resume(void);
bool self_is_suspended(void);
/* 0: the session is there. -EINVAL: it was, and is not open any more. */
int self_check(void);
/* After a creation of a queue: it is new no longer. */
int self_collect(void);

/* Fork child: the parent's session is not this process's. */
void self_forget(void);

#endif
