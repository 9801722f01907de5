/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes that a process has started, and those that they have started, in /proc as
 * it is now. A process whose parent has ended is found too if `root` is its subreaper (prctl(2)).
 *
 * Threads: any. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_UTIL_DESCENDANTS_H
#define KFDSHIM_CLI_UTIL_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

/* Writes the pids of all descendants of `root` to `out`, ascending, at most `max`, without `root`
 * itself, zombies and threads. Returns how many were written, or -ENOMEM or another error. */
int descendants_of(pid_t root, pid_t *out, size_t max);

#endif
