/* SPDX-License-Identifier: MIT */
/*
 * One frame of kfdsched top: two looks at the machine in, rows and shares out, filtered and
 * sorted as somebody wants them.
 *
 * Pure: no I/O, no clock. Threads: none. Ownership: a frame begins as zeros, can be made
 * again and again, and is ended by top_frame_free(). Its rows point into the state `now`.
 * Errors: negative errno.
 */
#ifndef KFDSHIM_TOP_FRAME_H
#define KFDSHIM_TOP_FRAME_H

#include "scheduler/top/column.h"
#include "scheduler/top/state.h"

#define TOP_FILTER 64u

/* What somebody wants to see. */
struct top_view {
	enum top_column sort;
	bool reverse;
	char filter[TOP_FILTER]; /* of a word or a number that the row shows; empty: all */
	pid_t pid;		 /* this one alone; 0: all */
};

/* Where the busy share of a node comes from. */
enum top_busy {
	TOP_BUSY_NOBODY, /* it is not known */
	TOP_BUSY_DAEMON, /* the share of the time in which a process had work there */
	TOP_BUSY_SYSFS,	 /* the share of its compute units that held waves at that moment */
};

struct top_node_row {
	const struct top_node *node;
	double busy_ratio; /* NAN: not known */
	enum top_busy busy_by;
};

/* All but `process` are NAN when they are not known. */
struct top_row {
	const struct top_process *process;
	double held_ratio; /* of the time since the look before, suspended by the daemon */
	double suspends_per_s;
};

struct top_frame {
	const struct top_state *now;
	double seconds; /* since the look before; 0: there was none */
	struct top_node_row *nodes;
	size_t node_count, node_room;
	struct top_row *rows;
	size_t row_count, row_room;
	/* Of the time between the two looks; NAN: not known, or there were none. */
	double suspends_per_s, resumes_per_s, failures_per_s;
	double suspend_p50_us, suspend_p99_us;
	double detection_p50_us, detection_p99_us;
};

/* `before`: an earlier look, or NULL. */
int top_frame_make(struct top_frame *frame, const struct top_state *before,
		   const struct top_state *now, const struct top_view *view);
void top_frame_free(struct top_frame *frame);

#endif
