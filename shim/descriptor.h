/* SPDX-License-Identifier: MIT */
/* Descriptors of a guest. */
#ifndef KFDSHIM_SHIM_DESCRIPTOR_H
#define KFDSHIM_SHIM_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

/*
 * A program may close what it has not opened, and its next file has one of our numbers
 * then. So our files are marked: by the signal that they would send on input, which none
 * ever does (F_SETSIG; it is the file's, not the number's). Nobody else would choose the
 * last of the real-time signals. contexts.c marks files of the driver by other numbers.
 */
#define DESCRIPTOR_MARK 64

/*
 * A program that has closed its standard input, output or error writes there all
 * the same, and must not write into something of ours: none of our descriptors
 * stays below 3. Takes fd, marks its file and gives the descriptor to use in its place
 * (close-on-exec), or -1 and errno, as it was given; fd is closed then.
 */
static inline int descriptor_keep(int fd)
{
	int kept = fd, err;

	if (fd < 0)
		return fd;
	if (fd <= STDERR_FILENO) {
		kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		err = errno;
		close(fd);
		errno = err;
	}
	if (kept < 0 || fcntl(kept, F_SETSIG, DESCRIPTOR_MARK) == 0)
		return kept;
	err = errno;
	close(kept);
	errno = err;
	return -1;
}

/* Before anything that would hurt another file: reading, writing, closing. Keeps
 * errno. */
static inline bool descriptor_is_ours(int fd)
{
	int err = errno, mark = fd < 0 ? -1 : fcntl(fd, F_GETSIG);

	errno = err;
	return mark == DESCRIPTOR_MARK;
}

/* Forgets it, and closes it if the number is still ours. Keeps errno. */
static inline void descriptor_close(int *fd)
{
	int err = errno;

	if (descriptor_is_ours(*fd))
		close(*fd);
	*fd = -1;
	errno = err;
}

#endif
