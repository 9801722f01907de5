/* SPDX-License-Identifier: MIT */
/*
 * Privileges of the daemon's processes: capabilities, priorities, and the system calls that each
 * can make. Beyond the rights of any process of its user, the daemon uses
 * - CAP_SYS_PTRACE, to trace processes, and in kfdschedd-read (reader.h) to read in /proc which
 *   namespaces processes of other users are in; the filter of kfdschedd-read forbids tracing;
 * - CAP_SYS_NICE, to run in real time or at a higher priority, only while a worker, an executor
 *   process, kfdschedd-read or kfdschedd-door starts.
 *
 * The watchdog uses neither capability: it keeps both permitted, so that its children can use them,
 * and none effective. If the daemon is started without them, it runs without them. All processes
 * have no-new-privs and a seccomp filter, a list of system calls. Any other call fails with EPERM
 * and is counted; filter_report() logs its name. A refused call does not kill the process: the
 * death of a worker would resume all held processes, and the next worker would make the same call
 * again. A process inherits the filters of its parent and cannot remove them. So the watchdog's
 * filter also allows what its children need, and each child adds a narrower filter.
 *
 * Threads: a process with one thread; filter_report(): each process of the daemon. Failures are
 * logged and not fatal. *refused is incremented at each refused call, by each process that has it
 * mapped.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_PRIVILEGES_H
#define KFDSHIM_SCHEDULER_DAEMON_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>

enum filter_role {
	FILTER_WATCHDOG,  /* forks, kills, notifies systemd */
	FILTER_ADMISSION, /* accepts connections, and forks (greeter.h) */
	FILTER_WORKER,	  /* decides, replies to clients */
	FILTER_EXECUTOR,  /* traces, calls the driver */
	FILTER_READER,	  /* reads in /proc (reader.h) */
	FILTER_METRICS,	  /* serves accepted sockets, and nothing else */
	FILTER_RECORD,	  /* reads and writes open files only (record.h) */
};

/* Makes CAP_SYS_PTRACE and CAP_SYS_NICE effective, and sets a real-time priority or, if that is not
 * allowed, a higher priority. It is the first step of a worker, an executor process or
 * kfdschedd-read. `log_failure`: log if neither priority is allowed. */
void privilege_urgent(bool log_failure);

/*
 * Drops the capabilities that the process does not need, permanently, and installs the filter of
 * `role`. Called before the process receives anything from outside; the watchdog calls it once it
 * has opened all that it needs. The watchdog keeps CAP_SYS_PTRACE and CAP_SYS_NICE permitted, an
 * executor process and kfdschedd-read keep CAP_SYS_PTRACE, and all others none. For kfdschedd-door,
 * first sets a higher priority if that is allowed; not a real-time priority, because any local user
 * can keep that process busy.
 */
void privilege_drop(enum filter_role role, uint64_t *refused);

/*
 * Installs the seccomp filter of `role`, permanently, for the calling thread and for the threads
 * and processes that it creates: the last step of privilege_drop(). Needs no-new-privs.
 *
 * Returns 0, or a negative errno if the filter was not installed; an inherited filter stays in
 * force.
 */
int filter_install(enum filter_role role, uint64_t *refused);

/* Logs the names of the calls that were refused to this process since the last report. Called by
 * each process in its loop. */
void filter_report(void);

#endif
