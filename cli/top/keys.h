/* SPDX-License-Identifier: MIT */
/*
 * User interface state of kfdsched top: each key changes what is shown, or makes ui_key() return an
 * action for the caller.
 *
 * Pure: no I/O, no clock. Threads: starts none. Owns no memory.
 */
#ifndef KFDSHIM_CLI_TOP_KEYS_H
#define KFDSHIM_CLI_TOP_KEYS_H

#include "cli/inspect/snapshot.h"
#include "cli/top/frame.h"
#include "cli/top/screen.h"

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
	size_t index;		   /* index that this row had last */
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
/* Handles one key (a character or enum ui_key). frame: the one on the screen. Returns the action
 * for the caller. */
enum ui_action ui_key(struct top_ui *ui, const struct top_frame *frame, int key);
/* Finds the selected process in a new frame, and scrolls so that its row is among the `page` rows
 * that are shown. If the process is gone, selects the row that is now at its last index. */
void ui_settle(struct top_ui *ui, const struct top_frame *frame, unsigned page);

/*
 * Draws a frame and the state of the user interface on a screen of any size. From 80x24 on all
 * important values are visible. On smaller screens lines are cut and columns are hidden; nothing is
 * wrapped.
 *
 * Depends on LC_CTYPE (screen.h). Stores in `ui` the number of rows that fit and the columns that
 * are shown. queues: last sample of ui->subject; NULL: none yet.
 */
void draw(struct screen *screen, struct top_ui *ui, const struct top_frame *frame,
	  const struct snapshot_process *queues);

#endif
