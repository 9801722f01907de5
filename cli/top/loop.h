/* SPDX-License-Identifier: MIT */
/*
 * Runs kfdsched top on a terminal until the user quits, the terminal is closed, or `stop_fd`
 * becomes readable.
 *
 * Threads: must be the only thread of its process. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_TOP_LOOP_H
#define KFDSHIM_CLI_TOP_LOOP_H

#include <stdint.h>
#include <sys/types.h>

struct live_options {
	const char *socket;   /* of the daemon; NULL: libkfdsched's default */
	pid_t pid;	      /* show this process only; 0: all */
	uint64_t interval_ns; /* time between two samples */
	int stop_fd;	      /* polled, never read */
};

/*
 * Returns 0, or a negative errno:
 * -ENOTTY, -ENODEV  as terminal_begin()
 * -ENOMEM           no memory
 * -EIO              the terminal was closed
 * Errors of poll(2) are passed on.
 */
int live_run(const struct live_options *options);

#endif
