/* SPDX-License-Identifier: MIT */
/*
 * A thread that traces one process and makes all driver calls on it, for as
 * long as the process is known: before Linux 6.12.103 only the tracing thread
 * may. It sleeps on one word until it is asked for something.
 *
 * Threads: all functions are for the loop; each executor runs one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/beat.h"
#include "scheduler/kfd/trap.h"

/* What it may be asked, any number at once, but one action at a time. */
enum executor_request {
	EXECUTOR_SUSPEND = 1 << 0,
	EXECUTOR_RESUME = 1 << 1,
	EXECUTOR_COLLECT = 1 << 2, /* its queues have changed */
	EXECUTOR_RUNTIME = 1 << 3, /* its runtime turns on or off */
	EXECUTOR_KICK = 1 << 4,	   /* a signal, or its end, is there to be served */
	EXECUTOR_QUIT = 1 << 5,
	EXECUTOR_WATCH = 1 << 6, /* nobody tells of its queues: EXECUTOR_RUNTIME for them, too */
};

/* What it has to tell. */
enum executor_outcome {
	EXECUTOR_ATTACHED = 1 << 0,
	EXECUTOR_REFUSED = 1 << 1, /* executor_reason() says why; it ends */
	EXECUTOR_ACTED = 1 << 2,
	EXECUTOR_NOT_COLLECTED = 1 << 3, /* a new queue could not be suspended */
	EXECUTOR_ENDED = 1 << 4,	 /* to be freed */
	EXECUTOR_CHANGED = 1 << 5,	 /* watched: its queues, or executor_runtime() */
};

struct executor_report {
	int error; /* of the action; -ECANCELED: there was nothing to act on */
	struct trap_cost cost;
};

struct executor;

/* Has any of them opened the device? It is closed by the end of the process. */
bool executor_has_device(void);
/* Begins with attaching; patient: waits for a predecessor that is dying. pidfd is
 * duplicated. done_fd: an eventfd that is written when there is an outcome. 0 or a
 * negative errno. */
int executor_start(pid_t pid, int pidfd, int done_fd, struct beat *beat, bool patient,
		   struct executor **out);
void executor_ask(struct executor *executor, uint32_t requests);
/* Takes the outcome; the report is of EXECUTOR_ACTED, or of EXECUTOR_ATTACHED: what the
 * first suspend cost. */
uint32_t executor_take(struct executor *executor, struct executor_report *report);
/* Once refused: why, as a sentence and as trap_attach() says. */
const char *executor_reason(const struct executor *executor, int *error);
/* Once attached: trap_events_fd(); it may be closed at any time later. */
int executor_events_fd(const struct executor *executor);
/* Is its runtime enabled? As the session's events have told. */
bool executor_runtime(const struct executor *executor);
/* Is there a reason to kick it? */
bool executor_pending(const struct executor *executor);
/* Once ended: waits for the thread's last instructions, and frees. */
void executor_free(struct executor *executor);

#endif
