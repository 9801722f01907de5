/* SPDX-License-Identifier: MIT */
/*
 * A debug session of kfdsched itself on a process that no daemon knows. Used by the acting child
 * (hold_child.h).
 *
 * The session is served while the caller waits, so that the process is not disturbed: its signals
 * are forwarded, the events of its runtime are answered, and a queue that it creates while it is
 * suspended is suspended too.
 *
 * Threads: all calls from the thread that opened the session. Errors are reported in one line on
 * stderr.
 */
#ifndef KFDSHIM_CLI_PREEMPT_HOLD_SESSION_H
#define KFDSHIM_CLI_PREEMPT_HOLD_SESSION_H

#include <stdbool.h>

#include "cli/util/select_process.h"
#include "kfd/debug_target.h"

struct session {
	struct trap *trap;
	const struct target_process *target;
	int signals;
	double opening_us; /* duration of the first suspend; NAN: there was no queue */
	bool interrupted;  /* a signal requested the end */
	/* NULL, or why nothing is left to act on (the process or the session has
	 * ended). Static text. */
	const char *gone;
	/* 0, or the negative errno because of which a queue that was created while the process was
	 * suspended could not be suspended. */
	int ran_on;
};

/* Opens a session on `target` (borrowed until session_close()). `signals`: the signalfd of
 * hold_child_run(). Returns CLI_GO_ON, or the exit code after one line on stderr: CLI_FAILED if
 * the process has ended, its queues could not be suspended or memory is short; otherwise
 * CLI_IMPOSSIBLE, for example if another debugger has the process or the caller has no right to
 * trace it. */
int hold_session_open(struct session *session, const struct cli_command *cmd,
		      const struct target_process *target, int signals);
/* Serves the session for `us` microseconds (INFINITY: no limit). Returns earlier if
 * session->interrupted or session->gone gets set. */
void session_wait_us(struct session *session, double us);
/* Ends the session. The driver then resumes all queues. */
void session_close(struct session *session);

#endif
