// SPDX-License-Identifier: MIT
/* Draws the queues of a process, the choice of the sort column, and the help. */
#include "cli/top/draw_panels.h"

#include <stdio.h>
#include <string.h>

/* ---- queues ---- */

/* Columns of the queue list; on a narrow screen the last ones are hidden. OBSERVE_FIELDS: the value
 * is no field of the queue, see cell(). */
static const struct {
	const char *title;
	unsigned width;
	bool left;
	enum observe_field field;
} columns[] = {
	{"QUEUE", 5, false, OBSERVE_FIELDS},
	{"GPU", 7, false, OBSERVE_FIELDS},
	{"TYPE", 7, true, OBSERVE_TYPE},
	{"RING", 8, false, OBSERVE_RING_BYTES},
	{"WPTR", 9, false, OBSERVE_WPTR},
	{"RPTR", 9, false, OBSERVE_RPTR},
	{"BACKLOG", 9, false, OBSERVE_BACKLOG_BYTES},
	{"PRI", 3, false, OBSERVE_PRIORITY},
	{"WORK", 4, true, OBSERVE_ACTIVE},
	{"HELD", 4, true, OBSERVE_SUSPENDED},
	{"HQDS", 4, false, OBSERVE_HQDS},
	{"CUS", 4, false, OBSERVE_CU_BITS},
	{"RING ADDRESS", 14, true, OBSERVE_RING_ADDRESS},
	{"SAVE AREA", 9, false, OBSERVE_CWSR_BYTES},
};
#define QUEUE_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static const char *cell(char text[static OBSERVE_TEXT], const struct top_state *now,
			const struct observe_queue *queue, size_t column)
{
	/* A queue without a CU mask can use all CUs. */
	if (columns[column].field == OBSERVE_CU_BITS && observe_known(queue, OBSERVE_CU_BITS) &&
	    queue->field[OBSERVE_CU_BITS].value == 0)
		return strcpy(text, "all");
	if (columns[column].field != OBSERVE_FIELDS)
		return observe_text(text, queue, columns[column].field);
	if (column == 1)
		return top_gpu_text(text, now, queue->gpu_id);
	if (queue->id == OBSERVE_NO_ID)
		strcpy(text, "-");
	else
		snprintf(text, OBSERVE_TEXT, "%u", queue->id);
	return text;
}

static size_t columns_that_fit(unsigned width)
{
	unsigned used = 0;
	size_t n = 0;

	while (n < QUEUE_COLUMNS && used + columns[n].width <= width)
		used += columns[n++].width + 1;
	return n;
}

static void draw_queue_lines(struct screen *screen, unsigned line, struct top_ui *ui,
			     const struct top_state *now, const struct observation *seen)
{
	size_t fit = columns_that_fit(screen->width);
	char text[OBSERVE_TEXT];

	for (size_t c = 0; c < fit; c++) {
		screen_text(screen, line, INK_TITLE, c ? " " : "");
		screen_cell(screen, line, INK_TITLE, columns[c].title, columns[c].width,
			    columns[c].left);
	}
	screen_fill(screen, line++, INK_TITLE);
	for (size_t i = ui->queue_first; i < seen->queues.count && line + 1 < screen->height; i++) {
		const struct observe_queue *queue = &seen->queues.queue[i];

		for (size_t c = 0; c < fit; c++) {
			screen_text(screen, line, INK_PLAIN, c ? " " : "");
			screen_cell(screen, line, INK_PLAIN, cell(text, now, queue, c),
				    columns[c].width, columns[c].left);
		}
		line++;
	}
}

/* List the sources that reported data, and those that failed. */
static void draw_sources(struct screen *screen, unsigned line, const struct observation *seen)
{
	const char *between = "Sources: ";

	for (unsigned s = 1; s < OBSERVE_SOURCES; s++) {
		if (!seen->result[s].queried || seen->result[s].error)
			continue;
		screen_print(screen, line, INK_PLAIN, "%s%s", between,
			     observe_source_name((enum observe_source)s));
		between = ", ";
	}
	for (unsigned s = 1; s < OBSERVE_SOURCES; s++) {
		if (!seen->result[s].queried || !seen->result[s].error)
			continue;
		screen_print(screen, line, INK_FAINT, "; failed: %s",
			     observe_source_name((enum observe_source)s));
	}
}

void draw_queues(struct screen *screen, struct top_ui *ui, const struct top_frame *frame,
		 const struct observation *seen)
{
	const struct top_process *process = top_find_process(frame->now, ui->subject);
	const unsigned titles = 2;

	screen_print(screen, 0, INK_STRONG, "Process %d", (int)ui->subject);
	if (process && process->inner_pid)
		screen_print(screen, 0, INK_PLAIN, " (%d in its container)",
			     (int)process->inner_pid);
	if (process && process->by_daemon)
		screen_print(screen, 0, INK_PLAIN, ", level %s, %s", process->level,
			     process->state);
	screen_print(screen, 0, INK_PLAIN, ": %s", process ? process->command : ui->name);
	ui->queue_count = seen && seen->alive ? seen->queues.count : 0;
	ui_settle(ui, frame, screen->height > titles + 2 ? screen->height - titles - 2 : 0);
	if (!process || (seen && !seen->alive)) {
		screen_text(screen, 1, INK_HELD, "It has ended, or no longer uses the GPU.");
		return;
	}
	if (!seen)
		return;
	draw_sources(screen, 1, seen);
	draw_queue_lines(screen, titles, ui, frame->now, seen);
}

/* ---- sort column ---- */

void draw_sort(struct screen *screen, unsigned line, const struct top_ui *ui)
{
	unsigned room = screen->height > line + 2 ? screen->height - line - 2 : 0;
	unsigned first = ui->column >= room && room ? ui->column - room + 1 : 0;

	if (room)
		screen_text(screen, line++, INK_TITLE, "Sort by");
	for (unsigned c = first; c < TOP_COLUMNS && c < first + room; c++)
		screen_cell(screen, line++, c == ui->column ? INK_CHOSEN : INK_PLAIN,
			    top_column_info((enum top_column)c)->title, 10, true);
}

/* ---- help ---- */

void draw_help(struct screen *screen)
{
	static const char *const lines[] = {
		"Up Down PgUp PgDn Home End, j k g G   move",
		"Enter   the queues of a process        F6, s   choose the sort column",
		"F4, /   filter: pid, level, state,     <  >    sort by the next column",
		"        command; Esc removes it        I       reverse the order",
		"S       suspend until R, or until this top ends (needs a daemon)",
		"R       resume: end every requested suspension",
		"t       change the priority             q, F10  quit",
		"",
		"Nodes: busy is the share of the time in which a process with the shim had work",
		"there (daemon); 'of CUs' the share of its compute units that hold waves now",
		"(sysfs); then compute queues of all processes, and hardware slots for them.",
		"Begin after: from the work that causes a suspend to the driver's call.",
		"",
		"CPID: pid in its container.  LEVEL: how it can be suspended. WORK: it has work.",
		"HQDS: hardware slots in which its queues are active, RATIO: of queues to those,",
		"both from debugfs, at most every 5 s. HELD%: share of the time in which the",
		"daemon held it. SUSP/S: its suspensions a second. -: not known.",
	};

	screen_text(screen, 0, INK_STRONG, "kfdsched top: keys");
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]) && i + 2 < screen->height; i++)
		screen_text(screen, i + 1, INK_PLAIN, lines[i]);
}
