/* SPDX-License-Identifier: MIT */
/*
 * A process that somebody names by its number: which one is it, and can it be
 * tagged? It knows nothing of us, so all there is to go by is /proc and sysfs.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_TARGET_H
#define KFDSHIM_SCHEDULER_DAEMON_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "scheduler/daemon/peer.h"

/*
 * 0: *out is that process and no later one of the same number, and the caller owns its
 * pidfd. Otherwise a negative errno and one sentence in `problem`: -ESRCH no such
 * process (wrong number, another namespace, a zombie), -EINVAL one that cannot be
 * tagged (a thread, of the kernel, the daemon itself), -ENODEV it does not use the
 * driver, or cannot be found in its list, -EEXIST the shim is in it, -EACCES it may not
 * be looked at.
 */
int target_open(pid_t pid, struct peer *out, char *problem, size_t size);

/* Has it the shim, and does that do something? false also where that may not be seen. */
bool target_has_shim(pid_t pid);

/* Is a thread of it inside DESTROY_QUEUE? There it sleeps until the queue is
 * resumed (wait_on_destroy_queue), which nobody announces for it. Reads a file
 * for each of its threads. */
bool target_destroys(pid_t pid);

#endif
