/* SPDX-License-Identifier: MIT */
/*
 * Access to the memory that the daemon's processes share. The watchdog creates all of it before
 * its first fork, so each process starts with all of it mapped. A process that reads untrusted
 * input gives up write access to what it does not write, so that an attacker in control of that
 * process cannot reach the others.
 *
 * Threads: a process with one thread. All functions return 0 or a negative errno.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_MAPPINGS_H
#define KFDSHIM_SCHEDULER_DAEMON_MAPPINGS_H

/* Unmaps each shared mapping that this process can write, except the one at `keep`. */
int mappings_unmap(const void *keep);

/* Makes these mappings read-only instead. This is permanent only with a seccomp filter that
 * refuses mprotect(2). */
int mappings_read_only(const void *keep);

#endif
