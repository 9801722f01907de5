/* SPDX-License-Identifier: MIT */
/*
 * The ptrace side of a target: hold its lead thread so that the driver lets
 * the calling thread act on it (kfd_ioctl_set_debug_trap compares the lead
 * thread's tracer with the calling thread), and be invisible to it: every
 * signal goes on at once, stops of job control work.
 *
 * Threads: all calls for one target from one thread, for life. SIGCHLD tells
 * that there may be something to serve. When the thread ends, the kernel lets
 * all its targets go.
 */
#ifndef KFDSHIM_SCHEDULER_KFD_TRACER_H
#define KFDSHIM_SCHEDULER_KFD_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

#include "scheduler/kfd/device.h"

/* Does not stop the target. 0, or a negative errno with the reason: -EAGAIN
 * somebody else traces it now, -ESRCH it is gone, -EPERM no right. */
int tracer_seize(pid_t pid, char reason[static KFD_REASON]);

/* Looks from outside, which the process does not notice. Does nobody trace it? And: when
 * there was no right to (-EPERM), might there be one now? Where Yama restricts tracing
 * that cannot be seen: false. */
bool tracer_nobody_has(pid_t pid);
bool tracer_right_has_come(pid_t pid);

/* Forwards the signal that has stopped the target, if one has; the next stop is another SIGCHLD,
 * so a target that signals itself without end cannot keep the caller here. 0, or -ESRCH: it has
 * ended, and has been waited for, without which its parent would never hear of its end. */
int tracer_serve(pid_t pid);

/* Is there something to serve? For any thread of the process. */
bool tracer_pending(pid_t pid);

/* Lets go; waits at most a second for a target that cannot be interrupted,
 * then leaves it to the end of the thread. -ESRCH: the target has ended. */
int tracer_detach(pid_t pid);

#endif
