/* SPDX-License-Identifier: MIT */
/*
 * A debug session of our own on a process that no daemon knows, as the acting child
 * (actor.h) has it: opened with a sentence where it cannot be, and served while we wait,
 * so that the process notices nothing: its signals go on, its runtime's calls are answered,
 * a queue that it makes while it is suspended is suspended too.
 *
 * Threads: the one that opened it. Errors: sentences.
 */
#ifndef KFDSHIM_CLI_SESSION_H
#define KFDSHIM_CLI_SESSION_H

#include <stdbool.h>

#include "scheduler/cli/target.h"
#include "scheduler/kfd/trap.h"

struct session {
	struct trap *trap;
	const struct target *target;
	int signals;
	double opening_us; /* what its queues' first suspend took; NAN: there were none */
	bool interrupted;  /* somebody wants an end of it */
	const char *gone;  /* not NULL: why there is nothing left to act on */
	int ran_on;	   /* what kept a queue that was made while suspended from it; or 0 */
};

/* CLI_GO_ON, and session_close() ends it; else the exit code, and a line was said:
 * CLI_IMPOSSIBLE where somebody else has the process, or we may not. */
int session_open(struct session *session, const struct verb *verb, const struct target *target,
		 int signals);
/* Serves it for so long (INFINITY: without end); sooner if it is interrupted or gone. */
void session_wait_us(struct session *session, double us);
/* Resumes everything. */
void session_close(struct session *session);

#endif
