/* SPDX-License-Identifier: MIT */
/*
 * Computes one frame of kfdsched top: rows, shares and rates from two samples of the machine.
 * Filters and sorts the rows. Also describes the columns of the process list: their texts, widths
 * and order, and which of them remain on a narrow terminal.
 *
 * Pure, except top_print(): no I/O, no clock. Threads: starts none. Ownership: the caller zeroes a
 * frame once, can make it any number of times, and ends it by top_frame_free(). Its rows point into
 * the state `now`, which must outlive them. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_TOP_FRAME_H
#define KFDSHIM_CLI_TOP_FRAME_H

#include "cli/top/snapshot.h"

/* ---- columns of the process list ---- */

enum top_column {
	TOP_PID,
	TOP_INNER_PID,
	TOP_LEVEL,
	TOP_ROLE,
	TOP_PRIORITY,
	TOP_STATE,
	TOP_WORK,
	TOP_QUEUES,
	TOP_HQDS,
	TOP_RATIO,
	TOP_VRAM,
	TOP_HELD,
	TOP_RATE,
	TOP_COMMAND,
	TOP_COLUMNS
};

struct top_column_info {
	const char *title;
	unsigned width; /* characters; TOP_COMMAND: minimum, it gets the remaining width */
	bool left;	/* text is aligned left */
	/* Columns are hidden on a narrow terminal in the order of this number, the largest first;
	 * 0: never. */
	unsigned goes;
	bool largest_first; /* default sort order is descending */
};
/* Returns the description of a column (static). */
const struct top_column_info *top_column_info(enum top_column column);

#define TOP_FILTER 64u

/* Selection and order of the rows. */
struct top_view {
	enum top_column sort;
	bool reverse;		 /* descending */
	char filter[TOP_FILTER]; /* shows rows that have this text, in any case; empty: all rows */
	pid_t pid;		 /* show this process only; 0: all */
};

/* Meaning and source of top_node_row.busy_ratio. */
enum top_busy {
	TOP_BUSY_NONE,	 /* not known */
	TOP_BUSY_DAEMON, /* share of the time in which a process had work on the node */
	TOP_BUSY_SYSFS,	 /* share of the compute units that held waves at the time of the sample */
};

struct top_node_row {
	const struct top_node *node;
	double busy_ratio; /* 0 to 1; NAN: not known */
	enum top_busy busy_by;
};

/* One process. The numbers are NAN if they are not known. */
struct top_row {
	const struct top_process *process;
	double held_ratio; /* share of the time since the last sample for which it was suspended */
	double suspends_per_s;
};

/*
 * Writes the text of a cell, "-" if the value is not known. Returns `text`.
 * Names come unchanged from the process, so the caller must filter them for a terminal
 * (screen_text() does).
 */
#define TOP_CELL 264u
const char *top_column_text(char text[static TOP_CELL], const struct top_row *row,
			    enum top_column column);

/*
 * Selects the columns that fit `width` characters, with one blank between two columns, and stores
 * them in visible[]. wanted[]: columns to show if they fit. Columns that are never hidden are shown
 * in any case. Returns the width that remains for TOP_COMMAND, or 0.
 */
unsigned top_columns_fit(unsigned width, const bool wanted[static TOP_COLUMNS],
			 bool visible[static TOP_COLUMNS]);

struct top_frame {
	const struct top_state *now; /* the later sample */
	double seconds;		     /* since the earlier sample; 0: there was none */
	struct top_node_row *nodes;
	size_t node_count;
	struct top_row *rows;
	size_t row_count;
	/* Values for the time between both samples. NAN: not known, or (percentiles) no suspend. */
	double suspends_per_s, resumes_per_s, failures_per_s;
	double suspend_p50_us, suspend_p99_us; /* duration of the driver's call */
	/* Time from the work that caused a suspend to the driver's call. */
	double detection_p50_us, detection_p99_us;
};

/* Computes a frame from the sample `now` and an earlier one, `before` (NULL: none). */
void top_frame_make(struct top_frame *frame, const struct top_state *before,
		    const struct top_state *now, const struct top_view *view);
/* Frees the memory of a frame and zeroes it. */
void top_frame_free(struct top_frame *frame);

/* ---- frame_output.c ---- */

/* Returns the frame as JSON (docs/reference/processes.md). The caller adds the key "gpus". */
json_t *top_json(const struct top_frame *frame);
/* Prints the frame as lines of text on stdout. */
void top_print(const struct top_frame *frame);

#endif
