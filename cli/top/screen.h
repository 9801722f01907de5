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

#include "cli/inspect/snapshot.h"
#include "cli/top/frame.h"

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
 * nothing if `line` is below the screen. */
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
 * Reads the next key without waiting. Returns a character or an enum ui_key (below), 0 for a key
 * without meaning, TERMINAL_NO_KEY if no key is waiting, or TERMINAL_RESIZED if the size of the
 * terminal has changed.
 */
#define TERMINAL_NO_KEY (-1)
#define TERMINAL_RESIZED (-2)
int terminal_key(void);

/* ---- keys.c ---- */

/*
 * User interface state of kfdsched top: each key changes what is shown, or makes ui_key() return an
 * action for the caller.
 *
 * Pure: no I/O, no clock. Threads: starts none. Owns no memory.
 */

/* Keys that are not characters. A character of several bytes (UTF-8) arrives byte by byte. */
enum ui_key {
	UI_KEY_UP = 0x1000,
	UI_KEY_DOWN,
	UI_KEY_LEFT,
	UI_KEY_RIGHT,
	UI_KEY_PAGE_UP,
	UI_KEY_PAGE_DOWN,
	UI_KEY_HOME,
	UI_KEY_END,
	UI_KEY_ENTER,
	UI_KEY_ESCAPE,
	UI_KEY_BACKSPACE,
	UI_KEY_F1,
	UI_KEY_F4,
	UI_KEY_F6,
	UI_KEY_F10,
};

enum ui_mode {
	UI_LIST,
	UI_QUEUES,	    /* queues of one process */
	UI_SORT,	    /* choice of the sort column */
	UI_FILTER,	    /* input of the filter */
	UI_PRIORITY,	    /* input of a priority */
	UI_CONFIRM_SUSPEND, /* question before a suspend; the next two modes are questions, too */
	UI_CONFIRM_RESUME,
	UI_CONFIRM_QUIT, /* asked because top's end resumes the processes that it has suspended */
	UI_HELP,
};

/* Action that the caller has to do after a key. */
enum ui_action {
	UI_NOTHING,
	UI_QUIT,
	UI_REDRAW,     /* sample the queues of ui->subject now */
	UI_SUSPEND,    /* suspend ui->subject */
	UI_RESUME,     /* resume ui->subject */
	UI_PRIORITISE, /* set the priority of ui->subject to ui->word */
};

#define UI_WORD 64u
#define UI_MESSAGE 300u

struct top_ui {
	enum ui_mode mode;
	enum ui_mode under; /* UI_LIST or UI_QUEUES: the view that the present mode returns to */
	struct top_view view;
	pid_t chosen;		   /* process of the selected row */
	size_t index;		   /* index of that row in the last frame */
	size_t first;		   /* index of the first row that is shown */
	unsigned page;		   /* number of rows that fit the screen */
	size_t queue_first;	   /* UI_QUEUES: first queue that is shown */
	size_t queue_count;	   /* UI_QUEUES: number of queues */
	unsigned column;	   /* UI_SORT: selected column */
	bool visible[TOP_COLUMNS]; /* columns that are shown; set by draw() */
	pid_t subject;		   /* process that the question or UI_QUEUES is about */
	char name[21];		   /* name of that process */
	char word[UI_WORD];	   /* text input */
	char message[UI_MESSAGE];  /* sentence shown until the next key; can be empty */
	unsigned holds;		   /* number of processes that are suspended while top runs */
};

/* Sets the initial state. pid: show this process only; 0: all. */
void ui_begin(struct top_ui *ui, pid_t pid);
/* Handles one key (a character or enum ui_key). frame: the frame that the user sees. Returns the
 * action that the caller has to do. */
enum ui_action ui_key(struct top_ui *ui, const struct top_frame *frame, int key);
/* Finds the selected process in a new frame, and scrolls so that its row is among the `page` rows
 * that are shown. If the process is gone, selects the row that is now at its last index. */
void ui_settle(struct top_ui *ui, const struct top_frame *frame, unsigned page);

/*
 * Draws a frame and the state of the user interface on a screen of any size. From 80x24 on all
 * important values are visible. On smaller screens lines are cut and columns are hidden; nothing is
 * wrapped.
 *
 * Depends on LC_CTYPE (above). Stores in `ui` the number of rows that fit and the columns that
 * are shown. queues: last sample of ui->subject; NULL: none yet.
 */
void draw(struct screen *screen, struct top_ui *ui, const struct top_frame *frame,
	  const struct snapshot_process *queues);

#endif
