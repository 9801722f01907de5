/* SPDX-License-Identifier: MIT */
/*
 * A screen of text: lines that are filled from left to right, never wider than it is, in
 * inks that a terminal may have or not. terminal.c shows one; tests read its lines.
 *
 * Every text is made harmless: control characters, invalid UTF-8, characters without a
 * width of their own and those that turn the direction of writing become '?'; outside UTF-8
 * (LC_CTYPE) all but ASCII does. A character of two columns is never cut.
 *
 * Threads: none. Ownership: begins as zeros, ended by screen_free().
 */
#ifndef KFDSHIM_TOP_SCREEN_H
#define KFDSHIM_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum screen_ink {
	INK_PLAIN,
	INK_FAINT,
	INK_STRONG,
	INK_TITLE,    /* of the list */
	INK_CHOSEN,   /* the row one is at */
	INK_BAR,      /* of the busy share */
	INK_URGENT,   /* online */
	INK_HELD,     /* suspended */
	INK_QUESTION, /* waits for an answer */
	INKS
};

#define SCREEN_SPANS 48u

struct screen_span {
	unsigned column; /* where it begins */
	size_t start;	 /* in the line's text */
	enum screen_ink ink;
};

struct screen_line {
	char *text;
	size_t bytes;
	unsigned columns; /* that are filled */
	unsigned spans;
	struct screen_span span[SCREEN_SPANS];
};

struct screen {
	unsigned width, height;
	bool utf8;
	struct screen_line *line;
	bool cursor; /* shown, at: */
	unsigned cursor_line, cursor_column;
};

/* Empty, and of that size. 0 or -ENOMEM. */
int screen_begin(struct screen *screen, unsigned width, unsigned height);
void screen_free(struct screen *screen);

/* Adds to a line what fits; lines beyond the last are no error. */
void screen_text(struct screen *screen, unsigned line, enum screen_ink ink, const char *text);
void screen_print(struct screen *screen, unsigned line, enum screen_ink ink, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same in exactly so many columns: cut, or filled with blanks. */
void screen_cell(struct screen *screen, unsigned line, enum screen_ink ink, const char *text,
		 unsigned columns, bool left);
/* Blanks up to the right edge. */
void screen_fill(struct screen *screen, unsigned line, enum screen_ink ink);
/* The cursor stands where the next text of that line would. */
void screen_cursor(struct screen *screen, unsigned line);

/* `text`, harmless, in at most so many columns and `size` bytes with its NUL. The columns
 * that it takes. */
unsigned screen_harmless(char *out, size_t size, const char *text, unsigned columns, bool utf8);

#endif
