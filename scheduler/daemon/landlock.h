/* SPDX-License-Identifier: MIT */
/*
 * Landlock (Linux 5.13 and newer) for the process that reads the configuration. It restricts
 * access to files, even for root.
 *
 * The worker and the watchdog do not use it. A process in a Landlock domain can trace only
 * processes of the same domain, whatever its capabilities, and cannot read which namespaces
 * other processes are in. Children inherit the domain, so the watchdog cannot be in one either.
 *
 * Threads: applies to the calling thread and to the threads and processes that it creates.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LANDLOCK_H
#define KFDSHIM_SCHEDULER_DAEMON_LANDLOCK_H

/*
 * Allows only reading of files from now on: no file can be opened for writing, created, removed,
 * renamed or executed, no TCP port bound or connected to, no other process traced or signalled,
 * as far as this kernel supports these restrictions. Needs no-new-privs.
 *
 * Returns
 *   0;
 *   -ENOSYS: this kernel has no Landlock, or it is disabled;
 *   another negative errno: the ruleset could not be created or applied.
 */
int landlock_read_only(void);

/* Returns the version of the kernel's Landlock interface; 0 if there is none. */
int landlock_version(void);

#endif
