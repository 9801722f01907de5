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

/* Drops the privileges of the watchdog, once it has opened all that it needs. */
void privilege_watchdog(uint64_t *refused);

/* First step of a worker, an executor process or kfdschedd-read: makes both capabilities
 * effective, and sets a real-time priority or, if that is not allowed, a higher one. `log_failure`: log
 * if neither is allowed. */
void privilege_urgent(bool log_failure);

/* Drops all capabilities of the worker permanently, before it receives anything from outside. */
void privilege_worker(uint64_t *refused);

/* Drops all capabilities but CAP_SYS_PTRACE, and installs the filter of an executor process or
 * of kfdschedd-read. */
void privilege_executor(uint64_t *refused);

/* As privilege_executor(), for kfdschedd-read. */
void privilege_reader(uint64_t *refused);

/* Drops all capabilities of kfdschedd-door (greeter.h) permanently. Before that it sets a higher
 * priority if that is allowed; not a real-time priority, because any local user can keep this
 * process busy. */
void privilege_admission(uint64_t *refused);

/* Drops all capabilities of the process that serves metrics, before it accepts a connection. */
void privilege_metrics(uint64_t *refused);

/* The same for the process that writes a recording (record.h) or the log (log_file.h). */
void privilege_record(uint64_t *refused);

#endif
