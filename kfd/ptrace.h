/* SPDX-License-Identifier: MIT */
/*
 * ptrace attachment to the lead thread (thread group leader) of a target process.
 *
 * The driver accepts debug calls on a target from the thread that traces the target's lead thread
 * (kfd_ioctl_set_debug_trap compares that tracer with the calling thread). The attachment must not
 * disturb the target: every signal is forwarded at once, and job control stops work as usual.
 *
 * Threads: all calls for one target must come from one thread for the life of the attachment,
 * except where a function says otherwise. SIGCHLD announces that a stop or the end of a target may
 * have to be handled by tracer_serve(). When the thread ends, the kernel detaches all its targets.
 */
#ifndef KFDSHIM_KFD_PTRACE_H
#define KFDSHIM_KFD_PTRACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "kfd/device.h"

/*
 * Attaches by PTRACE_SEIZE, without stopping the target.
 *
 * Returns 0, or a negative errno with `reason` set:
 * -EAGAIN  another process traces the target now
 * -ESRCH   the target has ended
 * -EPERM   no permission to trace the target
 * Other errors of ptrace(2) are passed on.
 */
int tracer_seize(pid_t pid, struct reason *reason);

/* Returns true if no process traces the target. Reads /proc only, so the target does not notice.
 * Any thread. */
bool tracer_is_free(pid_t pid);
/*
 * Returns true if tracer_seize() may succeed now, after it failed with -EPERM before. Reads /proc
 * only. Where Yama restricts tracing, permission is not visible in /proc: returns false. Any
 * thread.
 */
bool tracer_right_has_come(pid_t pid);

/*
 * Handles one stop of the target, if there is one: forwards the signal that stopped it and lets
 * the target continue. Only one, because the next stop sends another SIGCHLD; a target that keeps
 * signalling itself can therefore not keep the caller in this function.
 *
 * Returns 0, or -ESRCH if the target has ended. In this case the function has also reaped the
 * target (waitpid), because the kernel notifies the target's parent only after that.
 */
int tracer_serve(pid_t pid);

/* Returns true if tracer_serve() has something to handle. Any thread of the process. */
bool tracer_pending(pid_t pid);
/* Returns true if tracer_serve() has something to handle for any target of this process. Any
 * thread. */
bool tracer_any_pending(void);

/*
 * Detaches from the target. Waits up to 1 s for a target that does not react to the interrupt.
 *
 * Returns 0, -ESRCH if the target has ended, or -ETIMEDOUT. After -ETIMEDOUT the target stays
 * attached until the calling thread ends.
 */
int tracer_detach(pid_t pid);

#endif
