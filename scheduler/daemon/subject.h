/* SPDX-License-Identifier: MIT */
/* A process as the kernel describes it in /proc, for rules and grants (match.h). */
#ifndef KFDSHIM_SCHEDULER_DAEMON_SUBJECT_H
#define KFDSHIM_SCHEDULER_DAEMON_SUBJECT_H

#include "scheduler/daemon/match.h"

/*
 * Reads what can be read of `pid`; the rest stays empty, and so fits no condition. It is
 * of that process only if that still lives afterwards: ask its pidfd. shim is left false.
 * -ESRCH: it is gone.
 */
int subject_read(pid_t pid, struct subject *out);

#endif
