/* SPDX-License-Identifier: MIT */
/*
 * Which system calls the daemon's processes may make: a list, all else fails with
 * EPERM, is counted and, by filter_report(), named in the log. It does not kill: a
 * worker that dies resumes everybody, and starting another is no cure for a call that
 * it makes again.
 *
 * Filters are inherited and add up: the watchdog's holds what the others need, too.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_FILTER_H
#define KFDSHIM_SCHEDULER_DAEMON_FILTER_H

#include <stdint.h>

enum filter_role {
	FILTER_WATCHDOG, /* forks, kills, tells systemd */
	FILTER_DOOR,	 /* accepts connections, and forks (sink.h) */
	FILTER_WORKER,	 /* decides, answers clients */
	FILTER_EXECUTOR, /* traces, calls the driver */
	FILTER_READER,	 /* reads in /proc (reader.h) */
	FILTER_METRICS,	 /* answers on sockets that it accepts, and nothing else */
	FILTER_RECORD,	 /* reads and writes what is open (record.h) */
};

/* For the calling thread and all that it begins, for good, with no-new-privs; before
 * any other thread. `refused` is counted up at each refused call, by any process that
 * has it mapped. 0 or a negative errno: nothing is restricted (a filter already there
 * stays). */
int filter_install(enum filter_role role, uint64_t *refused);
/* Now and then: names what was refused to this process since. */
void filter_report(void);

#endif
