/* SPDX-License-Identifier: MIT */
/*
 * Which kfdsched in the foreground (suspend, preempt) acts on a process without a daemon:
 * it has a descriptor of it (a pidfd) open, and the kernel says of which. Threads: none.
 */
#ifndef KFDSHIM_CLI_HOLDERS_H
#define KFDSHIM_CLI_HOLDERS_H

#include <stdbool.h>
#include <sys/types.h>

struct holder {
	pid_t pid;
	const char *verb; /* "suspend" or "preempt" */
};

/* false: there is none, or none that we may see (another user's). */
bool holder_find(pid_t target, struct holder *out);

#endif
