/* SPDX-License-Identifier: MIT */
/*
 * The lines of debugfs kfd/mqds and kfd/hqds: rows of words, and what stands above them.
 * For debugfs_mqds.c and debugfs_hqds.c alone. Pure; nothing is allocated.
 */
#ifndef KFDSHIM_OBSERVE_DEBUGFS_LINE_H
#define KFDSHIM_OBSERVE_DEBUGFS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_WORDS 8u /* of a row, at most */

struct lines {
	const char *next, *end;
	const char *at; /* the line, without its end */
	size_t length;
	size_t number; /* from 1 */
	bool cut;      /* the last one has no end */
};

static inline struct lines lines_of(const char *text, size_t bytes)
{
	return (struct lines){.next = text, .end = text + bytes};
}
/* false: there are no more. */
bool line_next(struct lines *lines);

/* "    0000c914: 00000000 ...": how many words, 0: it is no row. */
unsigned line_row(const struct lines *lines, uint32_t *offset, uint32_t words[LINE_WORDS]);

/* The whole line is this text, in which each "%u" stands for a decimal and each "%x" for a
 * hexadecimal number; they are in numbers[] then. */
bool line_is(const struct lines *lines, const char *form, uint32_t *numbers);
bool line_begins(const struct lines *lines, const char *text);

#endif
