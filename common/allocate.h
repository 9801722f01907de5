/* SPDX-License-Identifier: MIT */
/*
 * Memory for a program that can end at any time, such as kfdsched: if there is none, the process
 * ends with a line on stderr and exit code 1, so that no caller handles a lack of memory. What the
 * driver, the daemon and the terminal hold for the process ends with it; a private directory in
 * TMPDIR stays. Not for the daemon, and not for libraries that are loaded into other programs.
 *
 * Threads: any. Ownership: the caller frees the memory by free().
 */
#ifndef KFDSHIM_COMMON_ALLOCATE_H
#define KFDSHIM_COMMON_ALLOCATE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns `memory`, the result of a function that returns NULL if there is no memory. */
static inline void *allocated(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
	exit(EXIT_FAILURE);
}

/* Returns room for `count` elements of `size` bytes, all 0. */
static inline void *allocate(size_t count, size_t size)
{
	return allocated(calloc(count ? count : 1, size));
}

/* Returns the list, moved if necessary, with room for one element more than `count`. `room`:
 * elements for which it has room. */
static inline void *allocate_next(void *list, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return list;
	*room = *room ? 2 * *room : 16;
	return allocated(reallocarray(list, *room, size));
}

#endif
