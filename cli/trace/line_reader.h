/* SPDX-License-Identifier: MIT */
/*
 * Splits a stream into lines: the stderr of a command, or a log. Each line is offered to a
 * function; lines that this function does not consume are passed on.
 *
 * Threads: one for each struct line_reader.
 */
#ifndef KFDSHIM_CLI_TRACE_LINE_READER_H
#define KFDSHIM_CLI_TRACE_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Longest line, in bytes. A longer one is passed on in pieces, or cut if there is no `rest`. */
#define TEXT_LINE 8192

/* Gets a line without its newline. Returns true if the line was consumed, false if it is
 * to be passed on. */
typedef bool text_take(void *context, const char *line, size_t bytes);

struct line_reader {
	FILE *rest; /* receives the lines that were not consumed; NULL: they are dropped */
	text_take *take;
	void *context;
	bool begun; /* the start of this line was passed on to `rest` already */
	size_t used;
	char line[TEXT_LINE];
};

/* Reads from `fd` what is available, at most about `most` bytes. Returns false at the end of the
 * stream or on an error. */
bool text_read(struct line_reader *text, int fd, size_t most);
/* Called when the stream is idle: passes on an incomplete line, for example a prompt that the
 * user has to see, unless the line begins like one that is to be consumed ("kfdshim[", or ":"
 * of HIP's log). */
void text_idle(struct line_reader *text);
/* Called at the end of the stream: offers or passes on an incomplete last line. */
void text_end(struct line_reader *text);

#endif
