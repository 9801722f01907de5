/* SPDX-License-Identifier: MIT */
/*
 * Lines that come in pieces, from a command's stderr or a log. Threads: one for each.
 */
#ifndef KFDSHIM_CLI_TRACE_TEXT_H
#define KFDSHIM_CLI_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TEXT_LINE 8192

/* A line without its newline. true: it is taken, and goes nowhere else. */
typedef bool text_take(void *context, const char *line, size_t bytes);

struct text {
	FILE *rest; /* where the lines go that nobody takes; NULL: nowhere */
	text_take *take;
	void *context;
	bool begun; /* the beginning of this line has gone to `rest` already */
	size_t used;
	char line[TEXT_LINE];
};

/* Reads `fd` until there is nothing more for now, and at most about `most` bytes. false:
 * there will be nothing more. */
bool text_read(struct text *text, int fd, size_t most);
/* What has no newline yet, and will have none, or is a question that somebody is to see:
 * goes to `rest`, if no line that is to be taken begins so. */
void text_idle(struct text *text);
void text_end(struct text *text);

#endif
