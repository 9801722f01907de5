/* SPDX-License-Identifier: MIT */
/*
 * A child that takes somebody else's process off the GPU, and its parent, which watches
 * over it. The child's end, however it comes, resumes everything: the driver ends the
 * sessions of a debugger that dies, and the daemon the leases of who hangs up. The parent
 * opens nothing, so that it can always end a child that was stopped in its work; and its
 * own end is the child's (PR_SET_PDEATHSIG).
 *
 * Threads: none; one child at a time.
 */
#ifndef KFDSHIM_CLI_ACTOR_H
#define KFDSHIM_CLI_ACTOR_H

#include <stddef.h>
#include <sys/types.h>

#include "scheduler/cli/cli.h"

enum actor_end {
	ACTOR_RETURNED,
	ACTOR_KILLED,  /* by a signal: a kill, or a crash */
	ACTOR_STOPPED, /* by a signal, and therefore ended */
};

/* Memory that parent and child share, all 0, until the process ends. NULL: there is none. */
void *actor_memory(size_t bytes);

/*
 * Runs act() in a child, until it ends. signals: a signalfd without waiting; SIGCHLD tells
 * that a process it traces may have stopped, each other one asks it to come to an end.
 * SIGTSTP (Ctrl-Z) does not reach it. What act() returned, below 256; CLI_FAILED without
 * a child (then a line was said, and *end is ACTOR_RETURNED), or if it was ended.
 */
int actor_run(const struct verb *verb, int (*act)(void *context, int signals), void *context,
	      enum actor_end *end);

/* Why there is no more, for `end`: "it was killed in its work: ...". */
const char *actor_sentence(enum actor_end end);

#endif
