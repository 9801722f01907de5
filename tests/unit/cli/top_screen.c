// SPDX-License-Identifier: MIT
/*
 * Proves that the screen of kfdsched top is never wider than the terminal, that hostile names are
 * made harmless, that the most useful columns are shown first, and that the keys work as documented
 * in the help.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli/top/screen.h"

static struct top_state now;
static struct top_frame frame;
static struct screen screen = {.utf8 = true};
static struct top_ui ui;

/* Adds a process. */
static void one_more(pid_t pid, const char *command)
{
	struct top_process *process = top_state_process(&now, pid);

	process->by_daemon = true;
	process->queues = 24;
	process->priority = 2;
	process->vram_bytes = 3ll << 30;
	process->mqds = 24;
	process->hqds = 96;
	strcpy(process->ratio, "1:4");
	strcpy(process->level, "trap");
	strcpy(process->role, "offline");
	strcpy(process->state, "suspended");
	snprintf(process->command, sizeof(process->command), "%s", command);
}

static int begin(void **data)
{
	(void)data;
	top_state_clear(&now);
	now.ns = 1;
	now.by_daemon = true;
	for (uint32_t gpu = 1; gpu <= 8; gpu++)
		top_state_node(&now, gpu)->slots = 24;
	for (int i = 0; i < 40; i++)
		one_more(100 + i, "python3 train.py");
	ui_begin(&ui, 0);
	return 0;
}

static void redraw(unsigned width, unsigned height, const struct snapshot_process *queues)
{
	top_frame_make(&frame, NULL, &now, &ui.view);
	screen_begin(&screen, width, height);
	draw(&screen, &ui, &frame, queues);
	/* The width of each line, as a terminal counts it. */
	for (unsigned y = 0; y < height; y++) {
		wchar_t wide[2048];

		assert_true(screen.line[y].columns <= width);
		assert_true(mbstowcs(wide, screen.line[y].text, 2048) != (size_t)-1);
		assert_int_equal(wcswidth(wide, 2048), screen.line[y].columns);
	}
}

static enum ui_action type_key(int key)
{
	return ui_key(&ui, &frame, key);
}

static void type(const char *word)
{
	for (; *word; word++)
		type_key((unsigned char)*word);
}

static bool shows(const char *text)
{
	for (unsigned y = 0; y < screen.height; y++)
		if (strstr(screen.line[y].text, text))
			return true;
	return false;
}

static void test_any_size(void **data)
{
	static const enum ui_mode modes[] = {UI_LIST,		UI_QUEUES,	 UI_SORT,
					     UI_FILTER,		UI_PRIORITY,	 UI_CONFIRM_SUSPEND,
					     UI_CONFIRM_RESUME, UI_CONFIRM_QUIT, UI_HELP};
	struct snapshot_process process = {0};

	(void)data;
	for (int i = 0; i < 50; i++)
		observe_list_add(&process.seen.queues)->id = (uint32_t)i;
	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
		for (unsigned width = 0; width < 200; width += width < 12 ? 1 : 17)
			for (unsigned height = 0; height < 60; height += height < 12 ? 1 : 7) {
				ui.mode = modes[m];
				ui.under = modes[m] == UI_QUEUES ? UI_QUEUES : UI_LIST;
				ui.subject = 103;
				redraw(width, height, &process);
			}
	observe_list_free(&process.seen.queues);
}

static void test_what_fits(void **data)
{
	(void)data;
	redraw(80, 24, NULL);
	/* The most important columns are shown at 80x24, the others where they fit. */
	assert_true(ui.visible[TOP_LEVEL] && ui.visible[TOP_STATE] && ui.visible[TOP_QUEUES] &&
		    ui.visible[TOP_HQDS] && ui.visible[TOP_RATIO] && ui.visible[TOP_VRAM]);
	assert_false(ui.visible[TOP_RATE]);
	assert_false(ui.visible[TOP_INNER_PID]);
	assert_true(shows("96   1:4"));
	redraw(120, 40, NULL);
	assert_true(ui.visible[TOP_RATE] && ui.visible[TOP_HELD] && ui.visible[TOP_ROLE]);
	assert_false(ui.visible[TOP_INNER_PID]); /* no process is in a container */
	now.processes[0].inner_pid = 7;
	redraw(140, 40, NULL);
	assert_true(ui.visible[TOP_INNER_PID]);
	redraw(40, 24, NULL);
	assert_true(ui.visible[TOP_PID] && ui.visible[TOP_COMMAND] && ui.visible[TOP_QUEUES]);
	assert_false(ui.visible[TOP_HQDS]);
}

static void test_names_of_gpus(void **data)
{
	(void)data;
	now.nodes[0].gpu = (struct gpu_name){.gpu_id = 1,
					     .bdf = "0000:43:00.0",
					     .render_minor = 128,
					     .product = "AMD Instinct MI210",
					     .partitions = 1};
	redraw(180, 40, NULL);
	assert_memory_equal(screen.line[1].text, "  0 [", 5);
	assert_non_null(strstr(screen.line[1].text,
			       "AMD Instinct MI210, 0000:43:00.0, renderD128, gpu_id 1"));
	/* A GPU of another machine has its gpu_id alone. */
	assert_memory_equal(screen.line[2].text, "[2] [", 5);
	redraw(80, 24, NULL);
	assert_memory_equal(screen.line[1].text, "  0 [", 5);
	assert_false(shows("AMD Instinct"));
}

static void test_hostile(void **data)
{
	static const struct {
		const char *in, *out;
		unsigned columns, used;
	} cases[] = {
		{"plain", "plain", 80, 5},
		{"\x1b[2J\x07\n\t\x7f", "?[2J????", 80, 8},
		{"a\xc2\x9b"
		 "2J",
		 "a?2J", 80, 4},			       /* C1 control character */
		{"\xff\xc0\xaf\xed\xa0\x80", "??????", 80, 6}, /* no UTF-8 */
		{"\xe8\xa8\x93\xe7\xb7\xb4", "\xe8\xa8\x93\xe7\xb7\xb4", 80,
		 4}, /* two columns each */
		/* a wide character is not split */
		{"\xe8\xa8\x93\xe7\xb7\xb4", "\xe8\xa8\x93", 3, 2},
		{"a\xe2\x80\xae"
		 "b",
		 "a?b", 80, 3},				   /* right-to-left override */
		{"e\xcc\x81", "e?", 80, 2},		   /* a combining character */
		{"\xe2\x80\x8b\xef\xbb\xbf", "??", 80, 2}, /* characters of zero width */
		{"\xf0\x9f", "??", 80, 2},		   /* truncated */
		{"abc", "ab", 2, 2},
		{"abc", "", 0, 0},
	};
	char text[64];

	(void)data;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			screen_harmless(text, sizeof(text), cases[i].in, cases[i].columns, true),
			cases[i].used);
		assert_string_equal(text, cases[i].out);
	}
	/* In a locale other than UTF-8 each byte is a character. */
	screen_harmless(text, sizeof(text), "\xe8\xa8\x93z", 80, false);
	assert_string_equal(text, "?z");
	assert_int_equal(screen_harmless(text, 3, "abcdef", 80, true), 2);
	assert_string_equal(text, "ab");

	one_more(1, "\x1b]0;pwned\x07 \xe8\xa8\x93");
	redraw(80, 24, NULL);
	assert_true(shows("?]0;pwned? \xe8\xa8\x93"));
	assert_false(shows("\x1b"));
}

static void test_moving(void **data)
{
	(void)data;
	redraw(80, 24, NULL);
	assert_int_equal(ui.chosen, 100);
	type_key('j');
	type_key(UI_KEY_DOWN);
	redraw(80, 24, NULL);
	assert_int_equal(ui.chosen, 102);
	type_key('k');
	type_key(UI_KEY_UP);
	type_key(UI_KEY_UP); /* not beyond the first row */
	redraw(80, 24, NULL);
	assert_int_equal(ui.chosen, 100);
	type_key(UI_KEY_END);
	redraw(80, 24, NULL);
	assert_int_equal(ui.chosen, 139);
	assert_true(shows("    139 ") && !shows("    100 "));
	type_key(UI_KEY_DOWN);
	redraw(80, 24, NULL);
	assert_int_equal(ui.chosen, 139);
	/* The selection follows its process; when the process has ended, it stays in its place. */
	type_key('I');
	redraw(80, 24, NULL);
	assert_int_equal(ui.chosen, 139);
	assert_int_equal(ui.index, 0);
	now.process_count--;
	redraw(80, 24, NULL);
	assert_int_equal(ui.chosen, 138);
	now.process_count = 0;
	redraw(80, 24, NULL);
	assert_int_equal(ui.chosen, 0);
	assert_int_equal(type_key(UI_KEY_ENTER), UI_NOTHING);
	assert_int_equal(type_key('S'), UI_NOTHING);
	redraw(80, 24, NULL);
	assert_true(shows("There is no process.") && shows("No process uses a GPU."));
	ui.view.pid = 100;
	redraw(80, 24, NULL);
	assert_true(shows("Process 100 has ended, or uses no GPU."));
}

static void test_sort_and_filter_keys(void **data)
{
	(void)data;
	redraw(80, 24, NULL);
	type_key('>');
	assert_int_equal(ui.view.sort, TOP_LEVEL); /* CPID is not shown, and therefore skipped */
	type_key('<');
	assert_int_equal(ui.view.sort, TOP_PID);
	type_key('<');
	assert_int_equal(ui.view.sort, TOP_COMMAND);
	type_key(UI_KEY_F6);
	redraw(80, 24, NULL);
	assert_true(shows("Sort by"));
	type_key(UI_KEY_UP);
	type_key(UI_KEY_ESCAPE);
	assert_int_equal(ui.view.sort, TOP_COMMAND);
	type_key('s');
	type_key(UI_KEY_HOME);
	for (int i = 0; i < TOP_VRAM; i++)
		type_key('j');
	type_key(UI_KEY_ENTER);
	assert_int_equal(ui.view.sort, TOP_VRAM);
	assert_true(ui.view.reverse); /* the largest value first */

	type_key('/');
	type("qqq");
	type_key(UI_KEY_BACKSPACE);
	type_key(UI_KEY_BACKSPACE);
	type_key(UI_KEY_BACKSPACE);
	type_key(UI_KEY_BACKSPACE);
	type("11");
	redraw(80, 24, NULL);
	assert_true(shows("Filter: 11"));
	assert_true(screen.cursor);
	assert_int_equal(frame.row_count, 10); /* 110 to 119, while the filter is typed */
	type_key(UI_KEY_ENTER);
	redraw(80, 24, NULL);
	assert_int_equal(frame.row_count, 10);
	type_key(UI_KEY_F4);
	type_key(UI_KEY_ESCAPE);
	redraw(80, 24, NULL);
	assert_int_equal(frame.row_count, 40);
	type_key('/');
	type("\xe8\xa8\x93");
	type_key(UI_KEY_BACKSPACE); /* a character, not a byte */
	assert_string_equal(ui.word, "");
	for (int i = 0; i < 300; i++)
		type_key('x'); /* limited by the size of the field */
	redraw(80, 24, NULL);
	type_key(UI_KEY_ENTER);
}

static void test_actions(void **data)
{
	(void)data;
	redraw(80, 24, NULL);
	type_key('j');
	assert_int_equal(type_key('S'), UI_NOTHING);
	redraw(80, 24, NULL);
	assert_true(shows("Suspend 101 (python3) until R, or this top ends? y/n"));
	assert_int_equal(type_key('n'), UI_NOTHING);
	redraw(80, 24, NULL);
	assert_true(shows("Cancelled."));
	type_key('S');
	assert_int_equal(type_key('y'), UI_SUSPEND);
	assert_int_equal(ui.subject, 101);
	type_key('R');
	assert_int_equal(type_key(UI_KEY_ENTER), UI_NOTHING); /* only y means yes */
	type_key('R');
	assert_int_equal(type_key('y'), UI_RESUME);
	type_key('t');
	type("online");
	assert_int_equal(type_key(UI_KEY_ENTER), UI_PRIORITISE);
	assert_string_equal(ui.word, "online");
	type_key('t');
	type("3");
	assert_int_equal(type_key(UI_KEY_ESCAPE), UI_NOTHING);
	assert_int_equal(type_key('q'), UI_QUIT);
	ui.holds = 1;
	assert_int_equal(type_key('q'), UI_NOTHING);
	redraw(80, 24, NULL);
	assert_true(shows("1 process suspended here will be resumed. Quit?"));
	assert_int_equal(type_key('y'), UI_QUIT);

	now.by_daemon = false;
	redraw(80, 24, NULL);
	ui.mode = UI_LIST;
	assert_int_equal(type_key('S'), UI_NOTHING);
	redraw(80, 24, NULL);
	assert_true(shows("This needs a daemon"));
	/* The pids of a daemon in another namespace are different here. */
	now.by_daemon = now.elsewhere = true;
	redraw(80, 24, NULL);
	for (const char *key = "SRt\r"; *key; key++) {
		assert_int_equal(type_key(*key == '\r' ? UI_KEY_ENTER : *key), UI_NOTHING);
		redraw(80, 24, NULL);
		assert_true(shows("run top in the daemon's namespace"));
	}
	now.elsewhere = false;
}

static void test_queues(void **data)
{
	struct snapshot_process process = {0};
	struct observe_queue *queue;

	(void)data;
	for (uint32_t i = 0; i < 40; i++) {
		queue = observe_list_add(&process.seen.queues);
		queue->id = i;
		queue->gpu_id = 29885;
	}
	observe_set(&process.seen.queues.queue[3], OBSERVE_TYPE, OBSERVE_AQL, OBSERVE_SYSFS);
	redraw(80, 24, NULL);
	type_key('j');
	assert_int_equal(type_key(UI_KEY_ENTER), UI_REDRAW);
	assert_int_equal(ui.subject, 101);
	redraw(80, 24, &process);
	assert_true(shows("Process 101, level trap, suspended: python3 train.py"));
	assert_true(shows("    3 [29885] aql"));
	assert_false(shows("   39 [29885]"));
	type_key(UI_KEY_PAGE_DOWN);
	type_key(UI_KEY_PAGE_DOWN);
	type_key(UI_KEY_PAGE_DOWN);
	redraw(80, 24, &process);
	assert_true(shows("   39 [29885]"));
	/* The question is about the displayed process, not about the row in the list. */
	type_key('S');
	assert_int_equal(type_key('y'), UI_SUSPEND);
	assert_int_equal(ui.subject, 101);
	assert_int_equal(ui.mode, UI_QUEUES);
	process.ended = true;
	redraw(80, 24, &process);
	assert_true(shows("It has ended"));
	type_key('?');
	redraw(80, 24, &process);
	assert_true(shows("kfdsched top: keys"));
	type_key('x');
	assert_int_equal(ui.mode, UI_QUEUES);
	assert_int_equal(type_key('q'), UI_NOTHING);
	assert_int_equal(ui.mode, UI_LIST);
	observe_list_free(&process.seen.queues);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_any_size, begin),
		cmocka_unit_test_setup(test_what_fits, begin),
		cmocka_unit_test_setup(test_names_of_gpus, begin),
		cmocka_unit_test_setup(test_hostile, begin),
		cmocka_unit_test_setup(test_moving, begin),
		cmocka_unit_test_setup(test_sort_and_filter_keys, begin),
		cmocka_unit_test_setup(test_actions, begin),
		cmocka_unit_test_setup(test_queues, begin),
	};
	int failed;

	setlocale(LC_CTYPE, "C.UTF-8");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	top_frame_free(&frame);
	top_state_free(&now);
	screen_free(&screen);
	return failed;
}
