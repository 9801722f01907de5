// SPDX-License-Identifier: MIT
#include "cli/top/screen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

#define BAR 12u	  /* width of the bar of a node */
#define WIDE 100u /* from this screen width on the bar is BAR_WIDE wide */
#define BAR_WIDE 20u
#define LIST_LEAST 8u /* lines of the screen that nodes must not use */

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* ---- above the list ---- */

static void draw_headline(struct screen *screen, const struct top_frame *frame)
{
	const struct top_state *now = frame->now;
	size_t queues = 0;

	for (size_t i = 0; i < now->process_count; i++)
		queues += now->processes[i].queues > 0 ? (size_t)now->processes[i].queues : 0;
	screen_text(screen, 0, INK_STRONG, "kfdsched top");
	screen_print(screen, 0, INK_PLAIN, "  %zu process%s, %zu queue%s", now->process_count,
		     now->process_count == 1 ? "" : "es", queues, plural(queues));
	if (now->by_daemon)
		screen_print(screen, 0, INK_PLAIN, "; daemon %d, policy %s", (int)now->daemon_pid,
			     now->policy[0] ? now->policy : "-");
	else
		screen_print(screen, 0, INK_FAINT, "; no daemon: %s", now->why);
}

static void draw_bar(struct screen *screen, unsigned line, double share, unsigned columns)
{
	unsigned full = isnan(share) ? 0 : (unsigned)(share * columns + 0.5);

	screen_text(screen, line, INK_PLAIN, "[");
	for (unsigned i = 0; i < columns; i++)
		screen_text(screen, line, INK_BAR, i < full ? "|" : " ");
	screen_text(screen, line, INK_PLAIN, "]");
}

static const char *short_name(char text[static GPU_NAME_SHORT], const struct top_node *node)
{
	return gpu_name_short(text, node->gpu.gpu_id ? &node->gpu : NULL, node->gpu_id);
}

/* Draws the line of a node. `columns`: width of the column with the short GPU name. On a screen of
 * at least WIDE columns the line ends with the GPU's long name. */
static void draw_node(struct screen *screen, unsigned line, const struct top_node_row *row,
		      int columns)
{
	const struct top_node *node = row->node;
	char queues[16] = "-", slots[16] = "-", share[16] = "-", gpu[GPU_NAME_LONG];

	if (!isnan(row->busy_ratio))
		snprintf(share, sizeof(share), "%.0f%%", 100 * row->busy_ratio);
	if (node->queues >= 0)
		snprintf(queues, sizeof(queues), "%d", node->queues);
	if (node->slots >= 0)
		snprintf(slots, sizeof(slots), "%d", node->slots);
	screen_print(screen, line, INK_PLAIN, "%*s ", columns, short_name(gpu, node));
	draw_bar(screen, line, row->busy_ratio, screen->width < WIDE ? BAR : BAR_WIDE);
	screen_cell(screen, line, INK_PLAIN, share, 5, false);
	screen_cell(screen, line, INK_FAINT,
		    row->busy_by == TOP_BUSY_DAEMON  ? " busy"
		    : row->busy_by == TOP_BUSY_SYSFS ? " of CUs"
						     : "",
		    8, true);
	screen_print(screen, line,
		     node->slots >= 0 && node->queues > node->slots ? INK_HELD : INK_PLAIN,
		     "%4s of %s slots", queues, slots);
	if (node->urgent == 1)
		screen_text(screen, line, INK_URGENT, "  online");
	else
		screen_text(screen, line, INK_FAINT, node->urgent == 0 ? "  -     " : "");
	if (node->suspended >= 0)
		screen_print(screen, line, node->suspended ? INK_HELD : INK_FAINT, "  %d suspended",
			     node->suspended);
	if (node->policy[0])
		screen_print(screen, line, INK_PLAIN, "  %s", node->policy);
	if (node->gpu.gpu_id && screen->width >= WIDE)
		screen_print(screen, line, INK_FAINT, "  %s", gpu_name_long(gpu, &node->gpu));
}

/* Returns the width of the column with the short GPU names, at least that of "GPU". */
static int gpu_columns(const struct top_frame *frame)
{
	char gpu[GPU_NAME_SHORT];
	size_t most = strlen("GPU");

	for (size_t i = 0; i < frame->node_count; i++) {
		size_t bytes = strlen(short_name(gpu, frame->nodes[i].node));

		most = bytes > most ? bytes : most;
	}
	return (int)most;
}

/* Draws the lines of the nodes. Returns the next free line. */
static unsigned draw_nodes(struct screen *screen, const struct top_frame *frame)
{
	unsigned most = screen->height > LIST_LEAST ? (screen->height - LIST_LEAST) / 2 : 0;
	size_t visible = frame->node_count;
	int columns = gpu_columns(frame);
	unsigned line = 1;

	if (visible > most)
		visible = most ? most - 1 : 0;
	for (size_t i = 0; i < visible; i++)
		draw_node(screen, line++, &frame->nodes[i], columns);
	if (visible < frame->node_count && most)
		screen_print(screen, line++, INK_FAINT, "%*s and %zu more nodes", columns, "",
			     frame->node_count - visible);
	return line;
}

static void rate(char text[static 16], double value)
{
	if (isnan(value))
		strcpy(text, "-");
	else
		snprintf(text, 16, "%.*f", value < 99.95 ? 1 : 0, value);
}

static void draw_totals(struct screen *screen, unsigned line, const struct top_frame *frame)
{
	char suspends[16], failures[16];
	char p50[QUANTITY_BYTES], p99[QUANTITY_BYTES], d50[QUANTITY_BYTES], d99[QUANTITY_BYTES];

	rate(suspends, frame->suspends_per_s);
	rate(failures, frame->failures_per_s);
	screen_print(screen, line, INK_PLAIN, "Suspends %s/s, failed %s/s; take P50 %s, P99 %s",
		     suspends, failures, quantity_us(p50, frame->suspend_p50_us),
		     quantity_us(p99, frame->suspend_p99_us));
	screen_print(screen, line, INK_PLAIN, "; begin after P50 %s, P99 %s",
		     quantity_us(d50, frame->detection_p50_us),
		     quantity_us(d99, frame->detection_p99_us));
}

/* ---- the list ---- */

static enum screen_ink ink_of(const struct top_row *row, enum top_column column)
{
	const struct top_process *process = row->process;

	if (column == TOP_STATE &&
	    (strcmp(process->state, "suspended") == 0 || strcmp(process->state, "suspending") == 0))
		return INK_HELD;
	if ((column == TOP_ROLE || column == TOP_PRIORITY) && strcmp(process->role, "online") == 0)
		return INK_URGENT;
	return INK_PLAIN;
}

static void draw_titles(struct screen *screen, unsigned line, const struct top_ui *ui,
			unsigned rest)
{
	for (unsigned c = 0; c < TOP_COLUMNS; c++) {
		const struct top_column_info *info = top_column_info((enum top_column)c);

		if (!ui->visible[c])
			continue;
		if (screen->line[line].columns)
			screen_text(screen, line, INK_TITLE, " ");
		screen_cell(screen, line, c == ui->view.sort ? INK_CHOSEN : INK_TITLE, info->title,
			    c == TOP_COMMAND ? rest : info->width, info->left);
	}
	screen_fill(screen, line, INK_TITLE);
}

static void draw_row(struct screen *screen, unsigned line, const struct top_ui *ui,
		     const struct top_row *row, unsigned rest)
{
	bool chosen = row->process->pid == ui->chosen;
	char text[TOP_CELL];

	for (unsigned c = 0; c < TOP_COLUMNS; c++) {
		const struct top_column_info *info = top_column_info((enum top_column)c);
		enum screen_ink ink = chosen ? INK_CHOSEN : ink_of(row, (enum top_column)c);

		if (!ui->visible[c])
			continue;
		if (screen->line[line].columns)
			screen_text(screen, line, chosen ? INK_CHOSEN : INK_PLAIN, " ");
		screen_cell(screen, line, ink, top_column_text(text, row, (enum top_column)c),
			    c == TOP_COMMAND ? rest : info->width, info->left);
	}
	if (chosen)
		screen_fill(screen, line, INK_CHOSEN);
}

/* Sets wanted[] to the columns to show: all, but CPID (TOP_INNER_PID) only if at least one process
 * has another pid in its container. */
static void want(const struct top_frame *frame, bool wanted[static TOP_COLUMNS])
{
	for (unsigned c = 0; c < TOP_COLUMNS; c++)
		wanted[c] = c != TOP_INNER_PID;
	for (size_t i = 0; i < frame->row_count; i++)
		if (frame->rows[i].process->inner_pid)
			wanted[TOP_INNER_PID] = true;
}

static void draw_list(struct screen *screen, unsigned line, struct top_ui *ui,
		      const struct top_frame *frame)
{
	unsigned end = screen->height - 1, rest;
	bool wanted[TOP_COLUMNS];

	want(frame, wanted);
	rest = top_columns_fit(screen->width, wanted, ui->visible);
	if (line < end)
		draw_titles(screen, line++, ui, rest);
	ui_settle(ui, frame, line < end ? end - line : 0);
	if (frame->row_count == 0 && ui->view.pid && line < end)
		screen_print(screen, line, INK_FAINT, "Process %d has ended, or uses no GPU.",
			     (int)ui->view.pid);
	else if (frame->row_count == 0 && line < end)
		screen_text(screen, line, INK_FAINT,
			    ui->view.filter[0] ? "No process matches the filter."
					       : "No process uses a GPU.");
	for (size_t i = ui->first; i < frame->row_count && line < end; i++)
		draw_row(screen, line++, ui, &frame->rows[i], rest);
}

/* ---- queues ---- */

/* Columns of the queue list; on a narrow screen the last ones are hidden. `field`: field of the
 * queue that is shown; OBSERVE_FIELDS: none, because cell() composes the text. */
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

/* Lists the sources that reported data, and those that failed. */
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

static void draw_queues(struct screen *screen, struct top_ui *ui, const struct top_frame *frame,
			const struct snapshot_process *seen)
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
	ui->queue_count = seen && !seen->ended ? seen->seen.queues.count : 0;
	ui_settle(ui, frame, screen->height > titles + 2 ? screen->height - titles - 2 : 0);
	if (!process || (seen && seen->ended)) {
		screen_text(screen, 1, INK_HELD, "It has ended, or no longer uses the GPU.");
		return;
	}
	if (!seen)
		return;
	draw_sources(screen, 1, &seen->seen);
	draw_queue_lines(screen, titles, ui, frame->now, &seen->seen);
}

/* ---- sort column ---- */

static void draw_sort(struct screen *screen, unsigned line, const struct top_ui *ui)
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

static void draw_help(struct screen *screen)
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

/* ---- the last line ---- */

static void draw_question(struct screen *screen, unsigned line, const struct top_ui *ui)
{
	switch (ui->mode) {
	case UI_CONFIRM_SUSPEND:
		screen_print(screen, line, INK_QUESTION,
			     "Suspend %d (%s) until R, or this top ends? y/n ", (int)ui->subject,
			     ui->name);
		break;
	case UI_CONFIRM_RESUME:
		screen_print(screen, line, INK_QUESTION,
			     "End every requested suspension of %d (%s)? y/n ", (int)ui->subject,
			     ui->name);
		break;
	case UI_CONFIRM_QUIT:
		screen_print(screen, line, INK_QUESTION,
			     "%u process%s suspended here will be resumed. Quit? y/n ", ui->holds,
			     ui->holds == 1 ? "" : "es");
		break;
	case UI_PRIORITY:
		screen_print(
			screen, line, INK_QUESTION,
			"Priority of %d: online, offline, 0 to 15, none, own: ", (int)ui->subject);
		screen_text(screen, line, INK_QUESTION, ui->word);
		break;
	default:
		screen_print(screen, line, INK_QUESTION, "Filter: %s", ui->word);
	}
	screen_cursor(screen, line);
}

static void draw_last_line(struct screen *screen, const struct top_ui *ui)
{
	unsigned line = screen->height - 1;

	switch (ui->mode) {
	case UI_LIST:
	case UI_QUEUES:
		if (ui->message[0])
			screen_text(screen, line, INK_STRONG, ui->message);
		else if (ui->mode == UI_QUEUES)
			screen_text(screen, line, INK_FAINT,
				    "q Back  S Suspend  R Resume  t Priority  ? Help");
		else if (ui->view.filter[0])
			screen_print(screen, line, INK_FAINT, "Filter: %s  (/ changes it)",
				     ui->view.filter);
		else
			screen_text(screen, line, INK_FAINT,
				    "? Help  / Filter  s Sort  Enter Queues  S Suspend  R Resume  "
				    "t Priority  q Quit");
		break;
	case UI_SORT:
		screen_text(screen, line, INK_FAINT, "Up, Down: choose  Enter: sort  Esc: leave");
		break;
	case UI_HELP:
		screen_text(screen, line, INK_FAINT, "Any key ends the help.");
		break;
	default:
		draw_question(screen, line, ui);
	}
}

void draw(struct screen *screen, struct top_ui *ui, const struct top_frame *frame,
	  const struct snapshot_process *queues)
{
	unsigned line;

	if (!screen->height || !screen->width)
		return;
	if (ui->mode == UI_HELP) {
		draw_help(screen);
	} else if (ui->under == UI_QUEUES) {
		draw_queues(screen, ui, frame, queues);
	} else {
		draw_headline(screen, frame);
		line = draw_nodes(screen, frame);
		if (line < screen->height - 1)
			draw_totals(screen, line++, frame);
		if (ui->mode == UI_SORT)
			draw_sort(screen, line, ui);
		else
			draw_list(screen, line, ui, frame);
	}
	draw_last_line(screen, ui);
}
