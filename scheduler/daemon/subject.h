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

/*
 * Of the text of /proc/PID/cgroup: the path of the unified hierarchy, or where that is not
 * used (`/`) the first other one that a controller has. Empty: none, or too long to be
 * told whole.
 */
void subject_cgroup(const char *text, char out[static SUBJECT_PATH]);
/* Of the container whose cgroup that is: container runtimes name it with an id of 64
 * hexadecimal digits; of several the innermost counts. Empty: none. */
void subject_container(const char *cgroup, char out[static CONTAINER_ID + 1]);

#endif
