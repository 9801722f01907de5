// SPDX-License-Identifier: MIT
#include "cli/top/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/frame.h"

static const struct top_column_info infos[TOP_COLUMNS] = {
	[TOP_PID] = {"PID", 7, false, 0, false},
	[TOP_INNER_PID] = {"CPID", 7, false, 11, false},
	[TOP_LEVEL] = {"LEVEL", 7, true, 3, false},
	[TOP_ROLE] = {"ROLE", 7, true, 9, false},
	[TOP_PRIORITY] = {"PRI", 3, false, 5, true},
	[TOP_STATE] = {"STATE", 10, true, 2, false},
	[TOP_WORK] = {"WORK", 4, true, 8, true},
	[TOP_QUEUES] = {"QUEUES", 6, false, 1, true},
	[TOP_HQDS] = {"HQDS", 4, false, 6, true},
	[TOP_RATIO] = {"RATIO", 5, false, 7, true},
	[TOP_VRAM] = {"VRAM", 6, false, 4, true},
	[TOP_HELD] = {"HELD%", 5, false, 10, true},
	[TOP_RATE] = {"SUSP/S", 6, false, 12, true},
	[TOP_COMMAND] = {"COMMAND", 12, true, 0, false},
};

const struct top_column_info *top_column_info(enum top_column column)
{
	return &infos[column];
}

/* Format a number of bytes in at most five characters: "512K", "1.5G", "16.0G". */
static void bytes(char *text, double value)
{
	static const char suffixes[] = "BKMGTP";
	unsigned suffix = 0;

	while (suffix + 2 < sizeof(suffixes) && value >= 999.5) {
		value /= 1024;
		suffix++;
	}
	snprintf(text, TOP_CELL, "%.*f%c", suffix && value < 99.95 ? 1 : 0, value,
		 suffixes[suffix]);
}

/* Returns the value of a numeric column; NAN: not known. */
static double number(const struct top_row *row, enum top_column column)
{
	const struct top_process *process = row->process;
	double value;

	switch (column) {
	case TOP_PID:
		return process->pid;
	case TOP_INNER_PID:
		return process->inner_pid ? process->inner_pid : NAN;
	case TOP_PRIORITY:
		value = process->priority;
		break;
	case TOP_WORK:
		value = process->active;
		break;
	case TOP_QUEUES:
		value = process->queues;
		break;
	case TOP_HQDS:
		value = process->hqds;
		break;
	case TOP_RATIO:
		value = process->hqds_per_queue;
		break;
	case TOP_VRAM:
		value = (double)process->vram_bytes;
		break;
	case TOP_HELD:
		return row->held_ratio;
	default:
		return row->suspends_per_s;
	}
	return value < 0 ? NAN : value;
}

/* Returns the text of a text column; NULL for a numeric one. */
static const char *name(const struct top_row *row, enum top_column column)
{
	switch (column) {
	case TOP_LEVEL:
		return row->process->level;
	case TOP_ROLE:
		return row->process->role;
	case TOP_STATE:
		return row->process->state;
	case TOP_RATIO: /* its order is that of a number, all the same */
		return row->process->ratio;
	case TOP_COMMAND:
		return row->process->command;
	default:
		return NULL;
	}
}

const char *top_column_text(char text[static TOP_CELL], const struct top_row *row,
			    enum top_column column)
{
	const char *word = name(row, column);
	double value = word ? NAN : number(row, column);

	snprintf(text, TOP_CELL, "%s", word && word[0] ? word : "-");
	if (isnan(value))
		return text;
	switch (column) {
	case TOP_WORK:
		strcpy(text, value > 0 ? "yes" : "no");
		break;
	case TOP_VRAM:
		bytes(text, value);
		break;
	case TOP_HELD:
	case TOP_RATE:
		value *= column == TOP_HELD ? 100 : 1;
		snprintf(text, TOP_CELL, "%.*f", value < 99.95 ? 1 : 0, value);
		break;
	default:
		snprintf(text, TOP_CELL, "%.0f", value);
	}
	return text;
}

int top_column_compare(const struct top_row *a, const struct top_row *b, enum top_column column,
		       bool reverse)
{
	bool is_word = column != TOP_RATIO && name(a, column);
	const char *left = name(a, column), *right = name(b, column);
	bool no_left, no_right;
	double x = 0, y = 0;
	int order;

	if (is_word) {
		no_left = !left[0];
		no_right = !right[0];
		order = strcmp(left, right);
	} else {
		x = number(a, column);
		y = number(b, column);
		no_left = isnan(x);
		no_right = isnan(y);
		order = (x > y) - (x < y);
	}
	if (no_left || no_right)
		order = no_left - no_right;
	else if (reverse)
		order = -order;
	if (order == 0)
		order = (a->process->pid > b->process->pid) - (a->process->pid < b->process->pid);
	return order;
}

unsigned top_columns_fit(unsigned width, const bool wanted[static TOP_COLUMNS],
			 bool visible[static TOP_COLUMNS])
{
	unsigned need = infos[TOP_COMMAND].width;

	for (unsigned c = 0; c < TOP_COLUMNS; c++) {
		visible[c] = wanted[c] || infos[c].goes == 0;
		if (visible[c] && c != TOP_COMMAND)
			need += infos[c].width + 1;
	}
	while (need > width) {
		unsigned first = TOP_COLUMNS;

		for (unsigned c = 0; c < TOP_COLUMNS; c++)
			if (visible[c] && infos[c].goes &&
			    (first == TOP_COLUMNS || infos[c].goes > infos[first].goes))
				first = c;
		if (first == TOP_COLUMNS)
			break;
		visible[first] = false;
		need -= infos[first].width + 1;
	}
	need -= infos[TOP_COMMAND].width;
	return width > need ? width - need : 0;
}
