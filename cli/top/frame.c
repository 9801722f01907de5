// SPDX-License-Identifier: MIT
#include "cli/top/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/allocate.h"

/* ---- columns ---- */

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

/* Formats a number of bytes in at most five characters: "512K", "1.5G", "16.0G". */
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
	case TOP_RATIO: /* is sorted as a number nevertheless */
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

/* Compares rows. Unknown values come last in both directions; equal rows are sorted by pid. */
static int compare(const void *one, const void *other, void *data)
{
	const struct top_row *a = one, *b = other;
	const struct top_view *view = data;
	enum top_column column = view->sort;
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
	else if (view->reverse)
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

/* ---- rows ---- */

/* Returns true if both samples are from the same worker of the daemon. Its counts start at 0 when
 * it starts, so they cannot be compared with those of another worker. */
static bool same_daemon(const struct top_state *before, const struct top_state *now)
{
	return before && before->by_daemon && now->by_daemon &&
	       before->worker_pid == now->worker_pid && before->daemon_pid == now->daemon_pid;
}

/* Returns the growth of a count per second. Returns NAN if one of the values is not known, or if
 * the count has shrunk: counts only grow, so `now` is then of another process or worker. */
static double rate(int64_t before, int64_t now, double seconds)
{
	if (seconds <= 0 || before < 0 || now < before)
		return NAN;
	return (double)(now - before) / seconds;
}

static void node_row(struct top_node_row *row, const struct top_node *node,
		     const struct top_state *before, double seconds)
{
	const struct top_node *was = before ? top_find_node(before, node->gpu_id) : NULL;
	double work = was ? rate(was->work_us, node->work_us, seconds) / 1e6 : NAN;

	*row = (struct top_node_row){.node = node, .busy_ratio = NAN};
	if (!isnan(work)) {
		/* The work time and the time of the sample are not read at the same moment, so the
		 * quotient can exceed 1. */
		row->busy_ratio = work > 1 ? 1 : work;
		row->busy_by = TOP_BUSY_DAEMON;
	} else if (node->work_us < 0 && node->occupied >= 0 && node->compute_units > 0) {
		row->busy_ratio = (double)node->occupied / node->compute_units;
		row->busy_ratio = row->busy_ratio > 1 ? 1 : row->busy_ratio;
		row->busy_by = TOP_BUSY_SYSFS;
	}
}

static void process_row(struct top_row *row, const struct top_process *process,
			const struct top_state *before, double seconds)
{
	const struct top_process *was = before ? top_find_process(before, process->pid) : NULL;

	*row = (struct top_row){
		.process = process,
		.held_ratio = NAN,
		.suspends_per_s = NAN,
	};
	if (!was)
		return;
	row->suspends_per_s = rate(was->suspends, process->suspends, seconds);
	row->held_ratio = rate(was->suspended_us, process->suspended_us, seconds) / 1e6;
	if (row->held_ratio > 1)
		row->held_ratio = 1;
}

/* Computes percentiles, in us, of the events between two samples, from the difference of two
 * histograms whose counts only grow. */
static void latencies(const struct hist *before, const struct hist *now, double *p50, double *p99)
{
	struct hist *span;

	if (now->count <= before->count)
		return;
	span = allocate(1, sizeof(*span));
	*span = *now;
	hist_subtract(span, before);
	*p50 = (double)hist_percentile(span, 0.50) / 1e3;
	*p99 = (double)hist_percentile(span, 0.99) / 1e3;
	free(span);
}

static void totals(struct top_frame *frame, const struct top_state *before,
		   const struct top_state *now)
{
	frame->suspends_per_s = frame->resumes_per_s = frame->failures_per_s = NAN;
	frame->suspend_p50_us = frame->suspend_p99_us = NAN;
	frame->detection_p50_us = frame->detection_p99_us = NAN;
	if (!same_daemon(before, now) || !before->totals || !now->totals)
		return;
	frame->suspends_per_s = rate((int64_t)before->totals->suspends,
				     (int64_t)now->totals->suspends, frame->seconds);
	frame->resumes_per_s = rate((int64_t)before->totals->resumes, (int64_t)now->totals->resumes,
				    frame->seconds);
	frame->failures_per_s = rate((int64_t)before->totals->failures,
				     (int64_t)now->totals->failures, frame->seconds);
	latencies(&before->totals->suspend, &now->totals->suspend, &frame->suspend_p50_us,
		  &frame->suspend_p99_us);
	latencies(&before->totals->detection, &now->totals->detection, &frame->detection_p50_us,
		  &frame->detection_p99_us);
}

static bool passes(const struct top_row *row, const struct top_view *view)
{
	static const enum top_column columns[] = {TOP_PID,  TOP_INNER_PID, TOP_LEVEL,
						  TOP_ROLE, TOP_STATE,	   TOP_COMMAND};
	char text[TOP_CELL];

	if (view->pid && row->process->pid != view->pid)
		return false;
	if (!view->filter[0])
		return true;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (strcasestr(top_column_text(text, row, columns[i]), view->filter))
			return true;
	return false;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct top_node_row *x = a, *y = b;

	return (x->node->gpu_id > y->node->gpu_id) - (x->node->gpu_id < y->node->gpu_id);
}

void top_frame_make(struct top_frame *frame, const struct top_state *before,
		    const struct top_state *now, const struct top_view *view)
{
	/* Compare only samples of the same worker of the daemon: a new worker counts from 0. */
	const struct top_state *counted = same_daemon(before, now) ? before : NULL;
	struct top_view wanted = *view;

	frame->now = now;
	frame->node_count = frame->row_count = 0;
	frame->seconds = before && now->ns > before->ns ? (double)(now->ns - before->ns) / 1e9 : 0;
	frame->nodes =
		allocated(reallocarray(frame->nodes, now->node_count + 1, sizeof(*frame->nodes)));
	frame->rows =
		allocated(reallocarray(frame->rows, now->process_count + 1, sizeof(*frame->rows)));
	for (size_t i = 0; i < now->node_count; i++)
		node_row(&frame->nodes[frame->node_count++], &now->nodes[i], counted,
			 frame->seconds);
	for (size_t i = 0; i < now->process_count; i++) {
		struct top_row *row = &frame->rows[frame->row_count];

		process_row(row, &now->processes[i], counted, frame->seconds);
		frame->row_count += passes(row, view);
	}
	if (frame->node_count)
		qsort(frame->nodes, frame->node_count, sizeof(*frame->nodes), compare_nodes);
	if (frame->row_count)
		qsort_r(frame->rows, frame->row_count, sizeof(*frame->rows), compare, &wanted);
	totals(frame, before, now);
}

void top_frame_free(struct top_frame *frame)
{
	free(frame->nodes);
	free(frame->rows);
	*frame = (struct top_frame){0};
}
