/* SPDX-License-Identifier: MIT */
/*
 * Seccomp filters: the list of system calls that each process of the daemon can make. Any other
 * call fails with EPERM and is counted; filter_report() logs its name. A refused call does not
 * kill the process: the death of a worker would resume all held processes, and the next worker
 * would make the same call again.
 *
 * A process inherits the filters of its parent and cannot remove them. So the watchdog's filter
 * also allows what its children need, and each child adds a narrower filter.
 *
 * Threads: each process of the daemon; see the functions.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_SECCOMP_FILTER_H
#define KFDSHIM_SCHEDULER_DAEMON_SECCOMP_FILTER_H

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

/*
 * Installs the filter of `role` permanently for the calling thread and for the threads and
 * processes that it creates. Needs no-new-privs. Call it before the process starts a second
 * thread. *refused is incremented at each refused call, by each process that has it mapped.
 *
 * Returns 0, or a negative errno if the filter was not installed; an inherited filter stays in
 * force.
 */
int filter_install(enum filter_role role, uint64_t *refused);

/* Logs the names of the calls that were refused to this process since the last report. Called by
 * each process in its loop. */
void filter_report(void);

#endif
