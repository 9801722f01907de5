/* SPDX-License-Identifier: MIT */
/*
 * What the person at kfdsched top does: keys in, what is shown and what is to be done out.
 *
 * Pure: no I/O, no clock. Threads: none. Nothing is owned.
 */
#ifndef KFDSHIM_TOP_UI_H
#define KFDSHIM_TOP_UI_H

#include "scheduler/top/frame.h"

/* Keys that are no characters. A character of several bytes comes byte by byte. */
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
	UI_QUEUES,   /* of one process */
	UI_SORT,     /* by which column? */
	UI_FILTER,   /* is being typed */
	UI_PRIORITY, /* is being typed */
	UI_ASK_SUSPEND,
	UI_ASK_RESUME,
	UI_ASK_QUIT, /* processes that we hold would run again */
	UI_HELP,
};

enum ui_action {
	UI_NOTHING,
	UI_QUIT,
	UI_LOOK,       /* at the queues of ui->subject, now */
	UI_SUSPEND,    /* ui->subject */
	UI_RESUME,     /* the same */
	UI_PRIORITISE, /* the same: ui->word */
};

#define UI_WORD 64u
#define UI_SAID 300u

struct top_ui {
	enum ui_mode mode;
	enum ui_mode under; /* UI_LIST or UI_QUEUES: where questions are asked */
	struct top_view view;
	pid_t chosen;  /* the row one is at */
	size_t index;  /* where it was last */
	size_t first;  /* row that is the first shown */
	unsigned page; /* rows that were shown last */
	size_t queue_first;
	size_t queue_count; /* of what is shown in UI_QUEUES */
	unsigned column;    /* UI_SORT: which one is at */
	bool shown[TOP_COLUMNS];
	pid_t subject;	    /* whom a question or UI_QUEUES is about */
	char name[21];	    /* of it */
	char word[UI_WORD]; /* what is being typed */
	char said[UI_SAID]; /* one sentence until the next key; or empty */
	unsigned holds;	    /* processes that are suspended as long as we run */
};

void ui_begin(struct top_ui *ui, pid_t pid);
enum ui_action ui_key(struct top_ui *ui, const struct top_frame *frame, int key);
/* Finds the chosen row again in another frame, and scrolls so that it is among `page`. */
void ui_settle(struct top_ui *ui, const struct top_frame *frame, unsigned page);

#endif
