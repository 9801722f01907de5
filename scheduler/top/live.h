/* SPDX-License-Identifier: MIT */
/*
 * kfdsched top on a terminal, until somebody quits, it goes away, or `stop_fd` is readable.
 *
 * Threads: one, of a process without others. Errors: negative errno.
 */
#ifndef KFDSHIM_TOP_LIVE_H
#define KFDSHIM_TOP_LIVE_H

#include <stdint.h>
#include <sys/types.h>

struct live_options {
	const char *socket; /* of the daemon; NULL: libkfdsched's own choice */
	pid_t pid;	    /* this process alone; 0: all */
	uint64_t interval_ns;
	int stop_fd; /* polled, never read */
};

/* -ENOTTY, -ENODEV: terminal_begin(). -ENOMEM. -EIO: the terminal has gone. */
int live_run(const struct live_options *options);

#endif
