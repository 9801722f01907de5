/* SPDX-License-Identifier: MIT */
/* File descriptors that the agent opens in the program's process. The program may close or reuse
 * any of them, so each is marked and is checked before use. Threads: any. */
#ifndef KFDSHIM_SHIM_DESCRIPTOR_H
#define KFDSHIM_SHIM_DESCRIPTOR_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

/*
 * A program may close file descriptors that it did not open, and its next file then gets one of the
 * agent's numbers. The agent therefore marks its open files with F_SETSIG: the signal that the file
 * would send on input, which none of these files ever does. The mark belongs to the open file, not
 * to the number. 64 is the last real-time signal, which no program is expected to choose for this
 * purpose. kfd_context.c marks files of the driver with smaller numbers.
 */
#define DESCRIPTOR_MARK 64

/*
 * Marks the open file behind @fd and returns the close-on-exec file descriptor to use instead of
 * @fd. Numbers 0 to 2 are replaced by a higher one, because a program that has closed its standard
 * input, output or error still writes there, and must not write into a file of the agent.
 *
 * Takes ownership of @fd. A negative @fd is returned as it is, so that the result of open() can be
 * passed directly.
 * Returns the file descriptor, or -1 with errno; @fd is closed then.
 */
static inline int descriptor_keep(int fd)
{
	int high_fd = fd, err;

	if (fd < 0)
		return fd;
	if (fd <= STDERR_FILENO) {
		high_fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		err = errno;
		close(fd);
		errno = err;
	}
	if (high_fd < 0 || fcntl(high_fd, F_SETSIG, DESCRIPTOR_MARK) == 0)
		return high_fd;
	err = errno;
	close(high_fd);
	errno = err;
	return -1;
}

/* Returns true if @fd still is an open file of the agent. Needed before each read, write or close,
 * which would otherwise act on a file of the program. Keeps errno. */
static inline bool descriptor_is_ours(int fd)
{
	int err = errno, mark = fd < 0 ? -1 : fcntl(fd, F_GETSIG);

	errno = err;
	return mark == DESCRIPTOR_MARK;
}

/* Sets *fd to -1, and closes the file if the number still belongs to the agent. Keeps errno. */
static inline void descriptor_close(int *fd)
{
	int err = errno;

	if (descriptor_is_ours(*fd))
		close(*fd);
	*fd = -1;
	errno = err;
}

#endif
