/* SPDX-License-Identifier: MIT */
/*
 * The test plays the agent's waits for a core (/proc/thread-self/schedstat): at each read they have
 * grown by waits_ns. The machine's own waits would be subtracted from the duration of a hold,
 * wherever they happened. Link with -Wl,--wrap=open, and include it once in a program, after
 * peers_play.h.
 */
#ifndef KFDSHIM_TESTS_PLAYED_WAITS_H
#define KFDSHIM_TESTS_PLAYED_WAITS_H

#include <sys/mman.h>

static _Atomic bool waits_are_played;
static _Atomic unsigned long long waits_ns, waited_ns;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;
	int fd;

	va_start(list, flags);
	mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
	va_end(list);
	if (!waits_are_played || strcmp(path, "/proc/thread-self/schedstat") != 0)
		return __real_open(path, flags, mode);
	waited_ns += waits_ns;
	fd = memfd_create("schedstat", MFD_CLOEXEC);
	CHECK(fd >= 0 && dprintf(fd, "1000 %llu 1\n", waited_ns) > 0 &&
	      lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

#endif
