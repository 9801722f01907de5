/* SPDX-License-Identifier: MIT */
/*
 * The processes that a process has started, and theirs, as /proc has them now. Those whose
 * parent has ended are found too if `root` is their subreaper (prctl(2)).
 *
 * Threads: any. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_DESCENDANTS_H
#define KFDSHIM_CLI_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

/* Without `root` itself, zombies and threads; sorted, at most `max`. Their number. */
int descendants_of(pid_t root, pid_t *out, size_t max);

#endif
