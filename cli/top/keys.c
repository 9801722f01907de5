// SPDX-License-Identifier: MIT
#include "cli/top/screen.h"

#include <stdio.h>
#include <string.h>

void ui_begin(struct top_ui *ui, pid_t pid)
{
	*ui = (struct top_ui){.view = {.sort = TOP_PID, .pid = pid}, .chosen = pid, .page = 1};
}

static const struct top_row *row_of(const struct top_frame *frame, pid_t pid)
{
	for (size_t i = 0; i < frame->row_count; i++)
		if (frame->rows[i].process->pid == pid)
			return &frame->rows[i];
	return NULL;
}

void ui_settle(struct top_ui *ui, const struct top_frame *frame, unsigned page)
{
	size_t count = frame->row_count, i = 0;

	ui->page = page ? page : 1;
	while (i < count && frame->rows[i].process->pid != ui->chosen)
		i++;
	/* If the selected process is gone, select the row that is now at ui->index. */
	if (i == count)
		i = count == 0 ? 0 : ui->index < count ? ui->index : count - 1;
	ui->index = i;
	ui->chosen = count ? frame->rows[i].process->pid : 0;
	if (ui->first > i)
		ui->first = i;
	if (i >= ui->first + ui->page)
		ui->first = i - ui->page + 1;
	/* Show no empty lines at the end while there are rows above the first one shown. */
	if (ui->first + ui->page > count)
		ui->first = count > ui->page ? count - ui->page : 0;
	if (ui->queue_first + ui->page > ui->queue_count)
		ui->queue_first = ui->queue_count > ui->page ? ui->queue_count - ui->page : 0;
}

static size_t moved(size_t from, size_t count, size_t page, int key)
{
	size_t last = count ? count - 1 : 0;

	switch (key) {
	case 'k':
	case UI_KEY_UP:
		return from ? from - 1 : 0;
	case 'j':
	case UI_KEY_DOWN:
		return from < last ? from + 1 : last;
	case UI_KEY_PAGE_UP:
		return from > page ? from - page : 0;
	case UI_KEY_PAGE_DOWN:
		return from + page < last ? from + page : last;
	case 'g':
	case UI_KEY_HOME:
		return 0;
	case 'G':
	case UI_KEY_END:
		return last;
	default:
		return from;
	}
}

static void sort_by(struct top_ui *ui, enum top_column column)
{
	ui->view.sort = column;
	ui->view.reverse = top_column_info(column)->largest_first;
}

/* Sorts by the visible column next to the present one: on its right (step 1) or left (step -1). */
static void sort_beside(struct top_ui *ui, int step)
{
	unsigned c = ui->view.sort;

	for (unsigned i = 0; i < TOP_COLUMNS; i++) {
		c = (c + TOP_COLUMNS + (unsigned)step) % TOP_COLUMNS;
		if (ui->visible[c])
			break;
	}
	sort_by(ui, (enum top_column)c);
}

static void set_message(struct top_ui *ui, const char *text)
{
	snprintf(ui->message, sizeof(ui->message), "%s", text);
}

/* Enters `mode`, which concerns the selected process. If that is impossible, sets a message. */
static void about(struct top_ui *ui, const struct top_frame *frame, enum ui_mode mode)
{
	pid_t pid = ui->under == UI_QUEUES ? ui->subject : ui->chosen;
	const struct top_row *row = row_of(frame, pid);
	const struct top_process *process = row ? row->process : top_find_process(frame->now, pid);

	if (!process) {
		set_message(ui, ui->under == UI_QUEUES ? "The process has ended."
						       : "There is no process.");
		return;
	}
	if (frame->now->elsewhere) {
		set_message(
			ui,
			"The daemon is in another pid namespace: run top in the daemon's namespace.");
		return;
	}
	if (mode != UI_QUEUES && !frame->now->by_daemon) {
		set_message(
			ui,
			"This needs a daemon: start one with 'kfdschedd', or use 'kfdsched suspend "
			"PID' without one.");
		return;
	}
	ui->subject = pid;
	ui->word[0] = '\0';
	snprintf(ui->name, sizeof(ui->name), "%.*s", (int)strcspn(process->command, " "),
		 process->command);
	ui->mode = mode;
}

static enum ui_action quit(struct top_ui *ui)
{
	if (!ui->holds)
		return UI_QUIT;
	ui->mode = UI_CONFIRM_QUIT;
	return UI_NOTHING;
}

/* Handles keys that work both in the list and in the view of a process's queues. */
static enum ui_action common_key(struct top_ui *ui, const struct top_frame *frame, int key)
{
	switch (key) {
	case 'S':
		about(ui, frame, UI_CONFIRM_SUSPEND);
		break;
	case 'R':
		about(ui, frame, UI_CONFIRM_RESUME);
		break;
	case 't':
		about(ui, frame, UI_PRIORITY);
		break;
	case '?':
	case 'h':
	case UI_KEY_F1:
		ui->mode = UI_HELP;
		break;
	case UI_KEY_F10:
		return quit(ui);
	default:
		break;
	}
	return UI_NOTHING;
}

static enum ui_action list_key(struct top_ui *ui, const struct top_frame *frame, int key)
{
	size_t to = moved(ui->index, frame->row_count, ui->page, key);

	if (to < frame->row_count && to != ui->index) {
		ui->index = to;
		ui->chosen = frame->rows[to].process->pid;
		return UI_NOTHING;
	}
	switch (key) {
	case 'q':
		return quit(ui);
	case '<':
		sort_beside(ui, -1);
		break;
	case '>':
		sort_beside(ui, 1);
		break;
	case 'I':
		ui->view.reverse = !ui->view.reverse;
		break;
	case 's':
	case UI_KEY_F6:
		ui->column = ui->view.sort;
		ui->mode = UI_SORT;
		break;
	case '/':
	case '\\':
	case UI_KEY_F4:
		snprintf(ui->word, sizeof(ui->word), "%s", ui->view.filter);
		ui->mode = UI_FILTER;
		break;
	case UI_KEY_ENTER:
		about(ui, frame, UI_QUEUES);
		if (ui->mode != UI_QUEUES)
			break;
		ui->under = UI_QUEUES;
		ui->queue_first = ui->queue_count = 0;
		return UI_REDRAW;
	default:
		return common_key(ui, frame, key);
	}
	return UI_NOTHING;
}

static enum ui_action queues_key(struct top_ui *ui, const struct top_frame *frame, int key)
{
	/* ui_settle() limits queue_first, so that the screen is filled. */
	ui->queue_first = moved(ui->queue_first, ui->queue_count, ui->page, key);
	switch (key) {
	case 'q':
	case UI_KEY_ESCAPE:
	case UI_KEY_LEFT:
	case UI_KEY_ENTER:
		ui->mode = ui->under = UI_LIST;
		return UI_NOTHING;
	default:
		return common_key(ui, frame, key);
	}
}

static void sort_key(struct top_ui *ui, int key)
{
	switch (key) {
	case UI_KEY_ENTER:
		sort_by(ui, (enum top_column)ui->column);
		ui->mode = UI_LIST;
		break;
	case 'q':
	case UI_KEY_ESCAPE:
	case UI_KEY_F6:
		ui->mode = UI_LIST;
		break;
	default:
		ui->column = (unsigned)moved(ui->column, TOP_COLUMNS, TOP_COLUMNS, key);
	}
}

/* Edits ui->word. Returns true if the key ends the input: Enter, or Escape, which empties it. */
static bool typed(struct top_ui *ui, int key)
{
	size_t length = strlen(ui->word);

	switch (key) {
	case UI_KEY_ESCAPE:
		ui->word[0] = '\0';
		return true;
	case UI_KEY_ENTER:
		return true;
	case UI_KEY_BACKSPACE:
		/* Remove a whole UTF-8 character: the continuation bytes and the first byte. */
		while (length && ((unsigned char)ui->word[length - 1] & 0xc0) == 0x80)
			length--;
		ui->word[length ? length - 1 : 0] = '\0';
		return false;
	default:
		if (key >= ' ' && key < 0x100 && key != 0x7f && length + 1 < sizeof(ui->word)) {
			ui->word[length] = (char)key;
			ui->word[length + 1] = '\0';
		}
		return false;
	}
}

static enum ui_action confirm(struct top_ui *ui, int key, enum ui_action yes)
{
	ui->mode = ui->under;
	if (key == 'y' || key == 'Y')
		return yes;
	set_message(ui, "Cancelled.");
	return UI_NOTHING;
}

enum ui_action ui_key(struct top_ui *ui, const struct top_frame *frame, int key)
{
	ui->message[0] = '\0';
	switch (ui->mode) {
	case UI_LIST:
		return list_key(ui, frame, key);
	case UI_QUEUES:
		return queues_key(ui, frame, key);
	case UI_SORT:
		sort_key(ui, key);
		return UI_NOTHING;
	case UI_FILTER:
		if (typed(ui, key))
			ui->mode = UI_LIST;
		snprintf(ui->view.filter, sizeof(ui->view.filter), "%s", ui->word);
		return UI_NOTHING;
	case UI_PRIORITY:
		if (!typed(ui, key))
			return UI_NOTHING;
		ui->mode = ui->under;
		if (ui->word[0])
			return UI_PRIORITISE;
		set_message(ui, "Cancelled.");
		return UI_NOTHING;
	case UI_CONFIRM_SUSPEND:
		return confirm(ui, key, UI_SUSPEND);
	case UI_CONFIRM_RESUME:
		return confirm(ui, key, UI_RESUME);
	case UI_CONFIRM_QUIT:
		return confirm(ui, key, UI_QUIT);
	default: /* any key ends the help */
		ui->mode = ui->under;
		return UI_NOTHING;
	}
}
