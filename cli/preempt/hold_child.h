/* SPDX-License-Identifier: MIT */
/*
 * Takes another process off the GPU from within a child process, while the parent watches
 * the child.
 *
 * The work is done in a child because the child's death undoes it, whatever its cause: the
 * driver ends the debug sessions of a debugger that has died and resumes their queues, and
 * the daemon ends the leases of a connection that was closed. The parent opens nothing, so
 * that it can always kill a child that was stopped (SIGSTOP, a debugger) during its work.
 * If the parent dies, the kernel kills the child (PR_SET_PDEATHSIG).
 *
 * Threads: none; one child at a time.
 */
#ifndef KFDSHIM_CLI_PREEMPT_HOLD_CHILD_H
#define KFDSHIM_CLI_PREEMPT_HOLD_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/util/select_process.h"
#include "kfd/debug_target.h"

enum hold_child_end {
	HOLD_CHILD_RETURNED, /* act() returned, or the child could not be started */
	HOLD_CHILD_KILLED,   /* ended by a signal: a kill, or a crash */
	HOLD_CHILD_STOPPED,  /* stopped by a signal, and therefore killed by the parent */
};

/*
 * Maps `bytes` of memory, all 0, that the parent and the child of hold_child_run() share. It is
 * never unmapped. What the child has stored there is still readable after its death.
 */
void *hold_child_memory(size_t bytes);

/*
 * Runs act() in a child process and waits until the child ends.
 *
 * signals (argument of act()): a non-blocking signalfd, owned by the child. SIGCHLD in it means
 * that a process that the child traces may have stopped. On every other signal in it (SIGINT,
 * SIGTERM, SIGHUP, SIGQUIT) act() has to finish early and return. Ctrl-Z (SIGTSTP) is blocked in
 * the child and has no effect, so that the target is not kept suspended.
 *
 * Returns what act() returned, which has to be below 256, or CLI_FAILED:
 *   no child could be started: a line was printed, and *end is HOLD_CHILD_RETURNED;
 *   the child was ended by a signal: *end is HOLD_CHILD_KILLED or HOLD_CHILD_STOPPED.
 * When the child has ended, the earlier handlers of the forwarded signals are restored.
 */
int hold_child_run(const struct cli_command *cmd, int (*act)(void *context, int signals),
		   void *context, enum hold_child_end *end);

/* Returns why the child delivers no more results, as the beginning of a message: "the child that
 * holds the process was killed". The text is static. */
const char *hold_child_errmsg(enum hold_child_end end);

/* ---- the debug session of the child ---- */

/*
 * A debug session of kfdsched itself on a process that no daemon knows.
 *
 * The session is served while the caller waits, so that the process is not disturbed: its signals
 * are forwarded, the events of its runtime are answered, and a queue that it creates while it is
 * suspended is suspended too.
 *
 * Threads: all calls from the thread that opened the session. Errors are reported in one line on
 * stderr.
 */
struct session {
	struct trap *trap;
	const struct target_process *target;
	int signals;
	double opening_us; /* duration of the first suspend; NAN: there was no queue */
	bool interrupted;  /* a signal requested the end */
	/* Why the hold is over (the process or the session has ended), static; NULL: it is not. */
	const char *gone;
	/* 0, or the negative errno of the failed suspend of a queue that was created while the
	 * process was suspended. */
	int ran_on;
};

/* Opens a session on `target` (borrowed until session_close()). `signals`: the signalfd of
 * hold_child_run(). Returns CLI_GO_ON, or the exit code after one line on stderr: CLI_FAILED if
 * the process has ended or its queues could not be suspended; otherwise
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
