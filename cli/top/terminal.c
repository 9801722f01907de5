// SPDX-License-Identifier: MIT
#include "cli/top/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#define ESCAPE_MS 25 /* ms after which ESC counts as the key Esc, not as the start of a sequence */
#define RESTORE 128  /* bytes for the sequences that restore the terminal */

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define FATAL (sizeof(fatal) / sizeof(fatal[0]))

static SCREEN *curses;
static struct termios modes;  /* modes before terminal_begin() */
static char restore[RESTORE]; /* output that restores the terminal after a fatal signal */
static size_t restore_bytes;

/* ---- restoring the terminal ---- */

/* Restores the terminal after a fatal signal. Only async-signal-safe calls are allowed in a signal
 * handler, so ncurses is not used. */
static void crashed(int number)
{
	ssize_t done = write(STDOUT_FILENO, restore, restore_bytes);

	(void)done;
	tcsetattr(STDIN_FILENO, TCSANOW, &modes);
	raise(number); /* SA_RESETHAND has restored the default action, so this ends the process */
}

static void keep_capability(const char *name)
{
	const char *value = tigetstr((NCURSES_CONST char *)name);
	size_t length = value && value != (char *)-1 ? strlen(value) : 0;

	if (restore_bytes + length > sizeof(restore))
		return;
	memcpy(restore + restore_bytes, value ? value : "", length);
	restore_bytes += length;
}

static void guard(void)
{
	const struct sigaction action = {.sa_handler = crashed, .sa_flags = (int)SA_RESETHAND};

	keep_capability("sgr0");
	keep_capability("cnorm");
	keep_capability("rmkx");
	keep_capability("rmcup");
	for (size_t i = 0; i < FATAL; i++)
		sigaction(fatal[i], &action, NULL);
}

void terminal_end(void)
{
	if (!curses)
		return;
	for (size_t i = 0; i < FATAL; i++)
		signal(fatal[i], SIG_DFL);
	endwin();
	delscreen(curses);
	curses = NULL;
}

/* ---- inks ---- */

static attr_t inks[INKS] = {
	[INK_PLAIN] = A_NORMAL,	 [INK_FAINT] = A_DIM,	   [INK_STRONG] = A_BOLD,
	[INK_TITLE] = A_REVERSE, [INK_BAR] = A_BOLD,	   [INK_CHOSEN] = A_REVERSE | A_BOLD,
	[INK_URGENT] = A_BOLD,	 [INK_HELD] = A_UNDERLINE, [INK_QUESTION] = A_BOLD,
};

/* Replaces attributes by colours if the terminal has colours. */
static void mix_inks(void)
{
	if (getenv("NO_COLOR") || !has_colors() || start_color() != OK ||
	    use_default_colors() != OK)
		return;
	init_pair(1, COLOR_BLACK, COLOR_GREEN);
	init_pair(2, COLOR_BLACK, COLOR_CYAN);
	init_pair(3, COLOR_GREEN, -1);
	init_pair(4, COLOR_YELLOW, -1);
	inks[INK_TITLE] = (attr_t)COLOR_PAIR(1);
	inks[INK_CHOSEN] = (attr_t)COLOR_PAIR(2);
	inks[INK_BAR] = (attr_t)COLOR_PAIR(3);
	inks[INK_URGENT] = (attr_t)COLOR_PAIR(3) | A_BOLD;
	inks[INK_HELD] = (attr_t)COLOR_PAIR(4);
}

/* ---- the terminal ---- */

int terminal_begin(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return -ENOTTY;
	setlocale(LC_CTYPE, "");
	tcgetattr(STDIN_FILENO, &modes);
	/* initscr() is not used because it ends the process if the terminal type is not known. */
	curses = newterm(NULL, stdout, stdin);
	if (!curses)
		return -ENODEV;
	atexit(terminal_end); /* also if the process ends for a lack of memory */
	guard();
	mix_inks();
	cbreak();
	noecho();
	nonl();
	set_escdelay(ESCAPE_MS);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	return 0;
}

void terminal_screen(struct screen *screen)
{
	int height, width;

	getmaxyx(stdscr, height, width);
	screen->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	screen_begin(screen, (unsigned)width, (unsigned)height);
}

void terminal_show(const struct screen *screen)
{
	erase();
	for (unsigned y = 0; y < screen->height; y++) {
		const struct screen_line *line = &screen->line[y];

		for (unsigned s = 0; s < line->spans; s++) {
			const struct screen_span *span = &line->span[s];
			size_t end = s + 1 < line->spans ? span[1].start : line->bytes;

			attrset((int)inks[span->ink]);
			mvaddnstr((int)y, (int)span->column, line->text + span->start,
				  (int)(end - span->start));
		}
	}
	attrset((int)A_NORMAL);
	curs_set(screen->cursor);
	if (screen->cursor)
		move((int)screen->cursor_line, (int)screen->cursor_column);
	refresh();
}

int terminal_key(void)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{KEY_UP, UI_KEY_UP},
		{KEY_DOWN, UI_KEY_DOWN},
		{KEY_LEFT, UI_KEY_LEFT},
		{KEY_RIGHT, UI_KEY_RIGHT},
		{KEY_PPAGE, UI_KEY_PAGE_UP},
		{KEY_NPAGE, UI_KEY_PAGE_DOWN},
		{KEY_HOME, UI_KEY_HOME},
		{KEY_END, UI_KEY_END},
		{KEY_ENTER, UI_KEY_ENTER},
		{'\r', UI_KEY_ENTER},
		{'\n', UI_KEY_ENTER},
		{27, UI_KEY_ESCAPE},
		{KEY_BACKSPACE, UI_KEY_BACKSPACE},
		{127, UI_KEY_BACKSPACE},
		{'\b', UI_KEY_BACKSPACE},
		{KEY_F(1), UI_KEY_F1},
		{KEY_F(4), UI_KEY_F4},
		{KEY_F(6), UI_KEY_F6},
		{KEY_F(10), UI_KEY_F10},
		{KEY_RESIZE, TERMINAL_RESIZED},
	};
	int key = getch();

	if (key == ERR)
		return TERMINAL_NO_KEY;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return key < 0x100 ? key : 0; /* 0: a key without meaning */
}
