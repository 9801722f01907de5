/* SPDX-License-Identifier: MIT */
/*
 * A screen of text in memory: lines that are filled from left to right and never exceed the width,
 * in "inks" that a terminal maps to colours or attributes, if it has them. terminal.c shows a
 * screen; tests read its lines.
 *
 * Every text is filtered: control characters, invalid UTF-8, characters without a width of their
 * own and characters that change the writing direction become '?'. If the encoding of LC_CTYPE is
 * not UTF-8, all characters except ASCII become '?', too. A character of two columns is never cut.
 *
 * Threads: starts none. Ownership: the caller zeroes a screen once, and ends it by screen_free().
 */
#ifndef KFDSHIM_CLI_TOP_SCREEN_H
#define KFDSHIM_CLI_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum screen_ink {
	INK_PLAIN,
	INK_FAINT,
	INK_STRONG,
	INK_TITLE,    /* column titles */
	INK_CHOSEN,   /* the selected row */
	INK_BAR,      /* bar of the busy share */
	INK_URGENT,   /* online processes */
	INK_HELD,     /* suspended processes */
	INK_QUESTION, /* question that waits for a key */
	INKS
};

#define SCREEN_SPANS 48u /* maximum number of spans in a line */

/* A part of a line that has one ink (colour or attributes). */
struct screen_span {
	unsigned column; /* first column */
	size_t start;	 /* first byte in the line's text */
	enum screen_ink ink;
};

struct screen_line {
	char *text;
	size_t bytes;
	unsigned columns; /* columns filled so far */
	unsigned spans;
	struct screen_span span[SCREEN_SPANS];
};

struct screen {
	unsigned width, height;
	bool utf8;
	struct screen_line *line;
	bool cursor; /* show the cursor at cursor_line, cursor_column */
	unsigned cursor_line, cursor_column;
};

/* Empties the screen and sets its size, in characters. */
void screen_begin(struct screen *screen, unsigned width, unsigned height);
/* Frees the memory of a screen and zeroes it. */
void screen_free(struct screen *screen);

/* screen_text() and screen_print() append text to a line, cut to the width of the screen. They do
 * nothing if the screen has no such line. */
void screen_text(struct screen *screen, unsigned line, enum screen_ink ink, const char *text);
void screen_print(struct screen *screen, unsigned line, enum screen_ink ink, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Appends text in exactly `columns` columns: longer text is cut, shorter text is padded with blanks
 * on the right if `left`, else on the left. */
void screen_cell(struct screen *screen, unsigned line, enum screen_ink ink, const char *text,
		 unsigned columns, bool left);
/* Fills a line with blanks up to the right edge. */
void screen_fill(struct screen *screen, unsigned line, enum screen_ink ink);
/* Puts the cursor behind the text of a line. */
void screen_cursor(struct screen *screen, unsigned line);

/* Filters `text` as described at the top of this file. Stores it in out[size], cut to `columns`
 * columns and to `size` bytes including the NUL. Returns the number of columns used. */
unsigned screen_harmless(char *out, size_t size, const char *text, unsigned columns, bool utf8);

/* ---- terminal ---- */

/*
 * The terminal of kfdsched top, through ncurses: shows screens and reads keys. terminal_end()
 * restores the terminal. So does a handler of fatal signals (SIGSEGV, SIGABRT ...) before the
 * process ends.
 *
 * Threads: one. A process has one terminal, so the state is global in terminal.c.
 *
 * terminal_begin() takes over the terminal of stdin and stdout. Returns 0, or a negative errno:
 * -ENOTTY  stdin or stdout is no terminal
 * -ENODEV  the terminal type in TERM is not known
 */
int terminal_begin(void);
void terminal_end(void); /* allowed also if terminal_begin() failed */

/* Empties `screen` and sets it to the current size and encoding of the terminal. */
void terminal_screen(struct screen *screen);
/* Draws the screen on the terminal. */
void terminal_show(const struct screen *screen);
/*
 * Reads the next key without waiting. Returns a character or an enum ui_key (keys.h), 0 for a key
 * without meaning, TERMINAL_NO_KEY if no key is waiting, or TERMINAL_RESIZED if the size of the
 * terminal has changed.
 */
#define TERMINAL_NO_KEY (-1)
#define TERMINAL_RESIZED (-2)
int terminal_key(void);

#endif
