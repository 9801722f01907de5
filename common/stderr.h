/* SPDX-License-Identifier: MIT */
/*
 * Writes a line to stderr of the application in which this code runs.
 *
 * stderr can be a pipe without a reader, where write would raise SIGPIPE, or a full pipe, where
 * write would block the caller. In both cases the line is dropped. A pipe that is writable has room
 * for PIPE_BUF bytes, and a line is not longer than that. A small race remains: between poll and
 * write another thread can fill the pipe, or its reader can close it.
 */
#ifndef KFDSHIM_COMMON_STDERR_H
#define KFDSHIM_COMMON_STDERR_H

#include <poll.h>
#include <stddef.h>
#include <unistd.h>

/* Writes a line of `n` bytes, at most PIPE_BUF. Does not keep errno. Threads: any. */
static inline void stderr_line(const char *line, size_t n)
{
	struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};

	/* A pipe without a reader also has POLLERR, a socket without a peer POLLHUP. */
	if (poll(&fd, 1, 0) == 1 && fd.revents == POLLOUT)
		(void)!write(STDERR_FILENO, line, n);
}

#endif
