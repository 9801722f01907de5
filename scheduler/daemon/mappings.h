/* SPDX-License-Identifier: MIT */
/*
 * Memory that the daemon's processes share. The watchdog makes all of it before its first
 * fork, so each process begins with all of it; a process that strangers talk to gives up what
 * it does not write, so that taking it over does not reach the others.
 *
 * For a process of one thread. 0 or a negative errno.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_MAPPINGS_H
#define KFDSHIM_SCHEDULER_DAEMON_MAPPINGS_H

/* Unmaps every shared mapping that this process may write, but for the one at `keep`. */
int mappings_unmap(const void *keep);
/* Has them read-only instead. Lasting only with a filter that refuses mprotect(2). */
int mappings_read_only(const void *keep);

#endif
