/* SPDX-License-Identifier: MIT */
/*
 * Lines of debugfs kfd/mqds and kfd/hqds: headings, and below them rows of 32-bit words.
 * Used by debugfs_mqds.c and debugfs_hqds.c only. Pure; nothing is allocated. Threads: any.
 */
#ifndef KFDSHIM_CLI_INSPECT_DEBUGFS_LINE_H
#define KFDSHIM_CLI_INSPECT_DEBUGFS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_WORDS 8u /* maximum number of words in a row */

/* A position in a text: the current line, and the rest behind it. */
struct lines {
	const char *next, *end; /* rest of the text */
	const char *at;		/* current line, without its newline */
	size_t length;		/* of the current line, bytes */
	size_t number;		/* of the current line, from 1 */
	bool cut;		/* the current line has no newline: the text ends in it */
};

static inline struct lines lines_of(const char *text, size_t bytes)
{
	return (struct lines){.next = text, .end = text + bytes};
}
/* Goes to the next line. Returns false if there is none. */
bool line_next(struct lines *lines);

/* Parses a row "    0000c914: 00000000 ...": offset and words. Returns the number of words, or 0 if
 * the line is no row. */
unsigned line_row(const struct lines *lines, uint32_t *offset, uint32_t words[LINE_WORDS]);

/* Returns true if the whole line matches `form`. In it, "%u" matches a decimal and "%x" a
 * hexadecimal number, which are written to numbers[] in their order. */
bool line_is(const struct lines *lines, const char *form, uint32_t *numbers);
/* Returns true if the line begins with `text`. */
bool line_begins(const struct lines *lines, const char *text);

#endif
