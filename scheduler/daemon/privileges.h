/* SPDX-License-Identifier: MIT */
/*
 * Privileges of the daemon's processes. Beyond the rights of any process of its user, the daemon
 * uses
 * - CAP_SYS_PTRACE, to trace processes, and in kfdschedd-read (reader.h) to read in /proc which
 *   namespaces processes of other users are in; the filter of kfdschedd-read forbids tracing;
 * - CAP_SYS_NICE, to run in real time or at a higher priority, only while a worker, an executor
 *   process, kfdschedd-read or kfdschedd-door starts.
 *
 * The watchdog uses neither: it keeps both permitted, so that its children can use them, and
 * none effective. If the daemon is started without them, it runs without them. All processes
 * have no-new-privs and a filter of system calls (seccomp_filter.h).
 *
 * Threads: a process with one thread. Failures are logged and not fatal. `refused` is the
 * counter of filter_install().
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_PRIVILEGES_H
#define KFDSHIM_SCHEDULER_DAEMON_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/daemon/seccomp_filter.h"

/* First step of a worker, an executor process or kfdschedd-read: makes both capabilities
 * effective, and sets a real-time priority or, if that is not allowed, a higher one. `log_failure`: log
 * if neither is allowed. */
void privilege_urgent(bool log_failure);

/*
 * Drops the capabilities that the process does not need, permanently, and installs the filter of
 * `role`. Called before the process receives anything from outside; by the watchdog once it has
 * opened all that it needs. The watchdog keeps both permitted, an executor process and
 * kfdschedd-read keep CAP_SYS_PTRACE, and all others none. Before that, a higher priority is set
 * for kfdschedd-door if that is allowed; not a real-time priority, because any local user can keep
 * that process busy.
 */
void privilege_drop(enum filter_role role, uint64_t *refused);

#endif
