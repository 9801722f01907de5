/* SPDX-License-Identifier: MIT */
/*
 * Self session: a debug session of this process on itself (DBG_TRAP), by which it suspends and
 * resumes its own compute queues. The driver requires no ptrace right if caller and target are the
 * same process.
 *
 * kfd/debug_session.h has the protocol and the rules of the driver. Two more rules concern a
 * process that is its own debugger (Linux 6.5 to 7.3):
 * - DESTROY_QUEUE of a suspended queue sleeps until RESUME. A runtime disable with an open session
 *   sleeps until a debugger answers, so the session has to be closed before.
 *
 * Device: the agent's own open file of /dev/kfd, for driver calls outside of hooks. The runtime's
 * file is not used for them, because the runtime may close it at any time.
 *
 * The device is opened anew, because all open files of a process, except those of secondary
 * contexts, belong to one KFD process. A program may close this file too (closefrom()), and its
 * number may then belong to another file, even to one of the same device that the program has
 * opened itself. The agent recognises its own file by the mark (descriptor.h), and opens the device
 * again when the mark is gone.
 *
 * If the device cannot be opened by name (a sandbox), the agent uses a copy of a file descriptor of
 * the program's primary context. A copy cannot be marked, because that would mark the program's
 * file as well. Without a mark it cannot be verified later that the number is still the agent's, so
 * the copy is never closed. It can be used again after device_drop().
 *
 * Threads: one call at a time (the lock of hold.c), except device_is_open(), self_is_open() and
 * self_is_suspended(), which any thread may call. No call allocates memory.
 */
#ifndef KFDSHIM_SHIM_SELF_SESSION_H
#define KFDSHIM_SHIM_SELF_SESSION_H

#include <stdbool.h>

#include "channel/agent_abi.h"

/* Opens the device for the agent. @fd is a file descriptor of the primary context that the program
 * has open. It identifies the device, and is copied if the device cannot be opened.
 * Returns 0, or a negative errno. */
int device_keep(int fd);
/* Returns true between a successful device_keep() and device_drop(). Any thread. */
bool device_is_open(void);
/* Returns the file descriptor for a driver call, opened again if it was lost; or -1 with errno if
 * the device cannot be opened. The file descriptor stays this module's. */
int device_fd(void);
/* Ends the use of the device. Closes the file descriptor, unless it is a copy. */
void device_drop(void);
/* Closes the file descriptor as device_drop() does, and forgets the copy of a file descriptor of
 * the program, because it belongs to the parent. To be called in a fork child. */
void device_forget(void);

/*
 * Opens the session, if it is not open. Before the call the device must be open (device_keep()) and
 * the runtime enabled.
 *
 * Returns 0, or a negative errno; nothing is left behind then.
 * - -EALREADY: another debugger has a session on this process.
 * - -EBUSY: the runtime is not enabled, or a queue keeps the flag "new".
 */
int self_open(const struct kfdshim_preload_iface *host);
/* Resumes all queues and closes the session, if it is open. */
void self_close(void);
/* Returns true while the session is open. If another process has ended the session, returns true
 * until another function here finds that out. Any thread. */
bool self_is_open(void);

/*
 * Suspends all compute queues in one driver call.
 *
 * Returns 0, or a negative errno. The caller then calls self_resume(), because some queues may be
 * suspended.
 * - -EIO: the firmware has failed.
 * - -EBUSY: a queue keeps the flag "new".
 * - -EINVAL, and self_is_open() is false: another process has ended the session.
 */
int self_suspend(void);
/* Resumes the queues that were suspended, and no others. Returns 0, also if the session is gone, or
 * a negative errno. */
int self_resume(void);
/* Returns true if a queue is, or possibly is, suspended by this session. Any thread. */
bool self_is_suspended(void);
/* Checks whether the session still exists in the driver. Returns 0; -EINVAL if another process has
 * ended it (self_is_open() is false then); or another negative errno if the check failed. */
int self_check(void);
/* Clears the driver's flag "new" of new queues, because a queue with that flag cannot be suspended.
 * Returns 0 or a negative errno. */
int self_collect(void);

/* Forgets the session, which is the parent's, in a fork child. */
void self_forget(void);

#endif
