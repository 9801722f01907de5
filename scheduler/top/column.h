/* SPDX-License-Identifier: MIT */
/*
 * The columns of the list of processes: what each shows of a row, how wide it is, and which
 * stay when the terminal is narrow. Pure. Threads: any.
 */
#ifndef KFDSHIM_TOP_COLUMN_H
#define KFDSHIM_TOP_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

struct top_row;

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
	unsigned width; /* of TOP_COMMAND: at least; it has what is left */
	bool left;
	/* The larger, the sooner it goes when there is no room; 0: it stays. */
	unsigned goes;
	bool largest_first; /* how one wants to see it sorted */
};
const struct top_column_info *top_column_info(enum top_column column);

/* The text of a cell, "-" if it is not known. Names are as the process says: whoever
 * prints them makes them harmless. Returns `text`. */
#define TOP_CELL 264u
const char *top_column_text(char text[static TOP_CELL], const struct top_row *row,
			    enum top_column column);
/* < 0: a before b. What is not known comes last, whatever the direction. */
int top_column_compare(const struct top_row *a, const struct top_row *b, enum top_column column,
		       bool reverse);

/* Which of the columns that somebody wants fit next to each other with a blank between;
 * false: this one is not shown. The width that is left for TOP_COMMAND. */
unsigned top_columns_fit(unsigned width, const bool wanted[static TOP_COLUMNS],
			 bool shown[static TOP_COLUMNS]);

#endif
