// SPDX-License-Identifier: MIT
#include "cli/trace/line_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Writes the current piece of the line to `rest`. */
static void pass_on(struct line_reader *text)
{
	if (text->rest && text->used > 0) {
		fwrite(text->line, 1, text->used, text->rest);
		fflush(text->rest);
	}
	text->begun = text->used > 0 || text->begun;
	text->used = 0;
}

static void line_ends(struct line_reader *text)
{
	if (text->begun || !text->take(text->context, text->line, text->used)) {
		pass_on(text);
		if (text->rest) {
			putc('\n', text->rest);
			fflush(text->rest);
		}
	}
	text->used = 0;
	text->begun = false;
}

bool text_read(struct line_reader *text, int fd, size_t most)
{
	char piece[65536];
	size_t got = 0;
	ssize_t n = 0;

	while (got < most && (n = read(fd, piece, sizeof(piece))) > 0) {
		got += (size_t)n;
		for (const char *c = piece, *end = piece + n; c < end;) {
			const char *stop = memchr(c, '\n', (size_t)(end - c));
			size_t bytes = (size_t)((stop ? stop : end) - c);
			size_t room = sizeof(text->line) - text->used;

			memcpy(text->line + text->used, c, bytes < room ? bytes : room);
			text->used += bytes < room ? bytes : room;
			c += bytes;
			if (stop) {
				line_ends(text);
				c++;
			} else if (text->rest && text->used == sizeof(text->line)) {
				pass_on(text); /* no line of a log is that long */
			}
		}
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void text_idle(struct line_reader *text)
{
	static const char *const ours[] = {"kfdshim[", ":"};

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		size_t n = strlen(ours[i]);

		if (text->used > 0 &&
		    memcmp(text->line, ours[i], text->used < n ? text->used : n) == 0)
			return;
	}
	if (text->used > 0)
		pass_on(text);
}

void text_end(struct line_reader *text)
{
	if (text->used > 0 && (text->begun || !text->take(text->context, text->line, text->used)))
		pass_on(text);
	text->used = 0;
}
