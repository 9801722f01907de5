/* SPDX-License-Identifier: MIT */
/*
 * Finds the kfdsched in the foreground (suspend, preempt) that holds a process without a daemon.
 * Such a kfdsched has a pidfd of the held process open, and /proc/PID/fdinfo shows of which
 * process a pidfd is. Threads: none.
 */
#ifndef KFDSHIM_CLI_PREEMPT_FOREGROUND_HOLDS_H
#define KFDSHIM_CLI_PREEMPT_FOREGROUND_HOLDS_H

#include <stdbool.h>
#include <sys/types.h>

struct holder {
	pid_t pid;
	const char *cmd; /* its command, "suspend" or "preempt" */
};

/* Finds the kfdsched that holds process `target`. Returns false if there is none, or none that
 * this user is allowed to see (another user's). */
bool holder_find(pid_t target, struct holder *out);

#endif
