/* SPDX-License-Identifier: MIT */
/*
 * Reads the attributes of a process in /proc, for rules and grants (match.h).
 *
 * Threads: any; no state. Reads in /proc can block (reader.h), so only kfdschedd-read calls it.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONFIG_SUBJECT_H
#define KFDSHIM_SCHEDULER_DAEMON_CONFIG_SUBJECT_H

#include "scheduler/daemon/config/match.h"

/*
 * Reads the attributes of `pid`. An attribute that cannot be read stays empty, and so matches no
 * condition. `shim` is set to false. The result belongs to the intended process only if that
 * process still lives afterwards; the caller checks its pidfd.
 *
 * Returns 0, or -ESRCH if there is no such process.
 */
int subject_read(pid_t pid, struct proc_attrs *out);

#endif
