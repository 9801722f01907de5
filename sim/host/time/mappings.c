// SPDX-License-Identifier: MIT
/*
 * munmap() and mprotect(). A program that gives up memory it shares with others (a sandbox that
 * unmaps it or makes it read-only) keeps the time page, because without the page each of its waits
 * would crash it.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "sim/host/time/library.h"

/* Returns true if the range overlaps the page. */
static bool holds_page(const void *at, size_t size)
{
	uintptr_t page = (uintptr_t)time_page(), start = (uintptr_t)at;

	return page && start < page + sizeof(struct time_page) && page < start + size;
}

EXPORT int munmap(void *at, size_t size)
{
	if (holds_page(at, size))
		return 0;
	return (int)returned(raw(SYS_munmap, (long)at, (long)size, 0, 0, 0, 0));
}

EXPORT int mprotect(void *at, size_t size, int rights)
{
	if (holds_page(at, size))
		return 0;
	return (int)returned(raw(SYS_mprotect, (long)at, (long)size, rights, 0, 0, 0));
}
