/* SPDX-License-Identifier: MIT */
/*
 * Takes samples at an interval, of several tasks at once, until all tasks are over or the user
 * stops the command. Used by monitor, watch, record, compare and top.
 *
 * Time is divided into slots of one interval each; a sample is taken at the beginning of a slot. If
 * a sample takes longer than a slot, or begins too late, the slots that have begun meanwhile are
 * skipped and counted as missed, and the next sample is taken at the beginning of the next slot.
 *
 * Threads: one at a time. Ownership: the caller owns the tasks; end() may free its own.
 */
#ifndef KFDSHIM_CLI_UTIL_SAMPLE_LOOP_H
#define KFDSHIM_CLI_UTIL_SAMPLE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of the tasks of a loop. */
#define SAMPLE_TASKS 65u

struct sample_task {
	uint64_t began_ns, interval_ns; /* slot N begins at began_ns + N * interval_ns */
	uint64_t next;			/* slot of the next sample */
	uint64_t last;			/* last slot; UINT64_MAX: no limit */
	uint64_t missed;		/* slots that were skipped */
	bool over; /* no further sample is taken; set by sample(), or after the last slot */
	void (*sample)(void *context);
	/* Called once, when the task is over or the loop ends. Returns an exit code. NULL: the exit
	 * code is CLI_DONE. */
	int (*end)(void *context);
	void *context; /* argument of both functions */
};

struct sample_loop {
	struct sample_task *tasks[SAMPLE_TASKS];
	size_t count; /* a sample() may append tasks */
	/* Waits until `until_ns`; may return earlier. Returns true if the loop is to end. NULL:
	 * stop_sleep_until(). */
	bool (*wait)(void *context, uint64_t until_ns);
	void *context; /* argument of wait() */
	int code; /* first exit code other than CLI_DONE that a task returned; CLI_DONE: none */
};

/* Initializes a task that takes samples without limit, the first of them now. */
void sample_task_begin(struct sample_task *task, double interval_us, void (*sample)(void *context),
		       void *context);
/* Takes a sample now, and sets task->next to the next slot (period of one interval). */
void sample_task_take(struct sample_task *task);
/* Takes the samples that are due, and waits for the next ones, until no task is left or wait()
 * returns true. Then ends the tasks that are left. Returns loop->code. */
int sample_loop_run(struct sample_loop *loop);

#endif
