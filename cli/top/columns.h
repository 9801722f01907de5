/* SPDX-License-Identifier: MIT */
/*
 * Columns of the process list of kfdsched top: their texts, widths and order, and which of them
 * remain on a narrow terminal. Pure. Threads: any.
 */
#ifndef KFDSHIM_CLI_TOP_COLUMNS_H
#define KFDSHIM_CLI_TOP_COLUMNS_H

#include <stdbool.h>

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
	unsigned width; /* characters; TOP_COMMAND: minimum, it gets the remaining width */
	bool left;	/* text is aligned left */
	/* Rank for hiding if the terminal is too narrow, largest first; 0: never hidden. */
	unsigned goes;
	bool largest_first; /* default sort order is descending */
};
/* Returns the description of a column (static). */
const struct top_column_info *top_column_info(enum top_column column);

/*
 * Writes the text of a cell, "-" if the value is not known. Returns `text`.
 * Names come unchanged from the process, so the caller must filter them for a terminal
 * (screen_text() does).
 */
#define TOP_CELL 264u
const char *top_column_text(char text[static TOP_CELL], const struct top_row *row,
			    enum top_column column);
/* Returns < 0 if a comes before b, > 0 if after. Unknown values come last in both directions; rows
 * with equal values are sorted by pid. */
int top_column_compare(const struct top_row *a, const struct top_row *b, enum top_column column,
		       bool reverse);

/*
 * Selects the columns that fit `width` characters, with one blank between two columns.
 * wanted[]: columns to show if possible; columns that are never hidden are shown in any case.
 * shown[]: the result. Returns the width that remains for TOP_COMMAND, 0 if none does.
 */
unsigned top_columns_fit(unsigned width, const bool wanted[static TOP_COLUMNS],
			 bool visible[static TOP_COLUMNS]);

#endif
