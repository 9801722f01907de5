/* SPDX-License-Identifier: MIT */
/*
 * A line on a descriptor that is the program's. It may be a pipe whose reader has gone,
 * where write would be a SIGPIPE, or one that is full, where it would block whoever
 * has called: such a line is dropped. A pipe that is writable has room for PIPE_BUF
 * bytes, which a line has not more than. Between the look and the write another thread
 * may still fill it, or its reader may go.
 */
#ifndef KFDSHIM_COMMON_STDERR_H
#define KFDSHIM_COMMON_STDERR_H

#include <poll.h>
#include <stddef.h>
#include <unistd.h>

/* Leaves an errno. */
static inline void stderr_line(const char *line, size_t n)
{
	struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};

	/* Without a reader it is POLLOUT and POLLERR, at a socket's end POLLHUP. */
	if (poll(&fd, 1, 0) == 1 && fd.revents == POLLOUT)
		(void)!write(STDERR_FILENO, line, n);
}

#endif
