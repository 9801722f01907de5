/* SPDX-License-Identifier: MIT */
/*
 * Allocates memory for programs that may end at any time, such as kfdsched. If memory is short, the
 * process ends with a line on stderr and exit code 1, so callers need not handle a failed
 * allocation. What the driver, the daemon and the terminal keep for the process is released when it
 * ends; a private directory in TMPDIR is not removed. Not for the daemon, and not for libraries
 * that are loaded into other programs.
 *
 * Threads: any. Ownership: the caller frees the memory by free().
 */
#ifndef KFDSHIM_COMMON_ALLOCATE_H
#define KFDSHIM_COMMON_ALLOCATE_H

#include <stdio.h>

#include "common/array.h"

/* Returns `memory`, the result of an allocation. If it is NULL, prints "out of memory" on stderr
 * and ends the process with exit code 1. */
static inline void *allocated(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
	exit(EXIT_FAILURE);
}

/* Allocates an array of `count` elements of `size` bytes each, all 0. Ends the process if memory is
 * short, as allocated() does. */
static inline void *allocate(size_t count, size_t size)
{
	return allocated(calloc(count ? count : 1, size));
}

/* Makes room for one more element behind the `count` elements of the list, which are of `size`
 * bytes each. *room is the number of elements that fit in the list now; it is doubled if necessary.
 * Returns the list, which may have moved. */
static inline void *allocate_next(void *list, size_t count, size_t *room, size_t size)
{
	return allocated(array_with_room(list, room, count + 1, size));
}

#endif
