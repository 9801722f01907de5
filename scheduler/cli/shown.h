/* SPDX-License-Identifier: MIT */
/*
 * A command whose output is kept in files and shown at the same time. It is a process group
 * of its own; when we die the kernel ends it, and what it starts and leaves becomes ours
 * (PR_SET_CHILD_SUBREAPER).
 *
 * Threads: none. One at a time. Errors: a negative errno.
 */
#ifndef KFDSHIM_CLI_SHOWN_H
#define KFDSHIM_CLI_SHOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct shown_stream {
	int from; /* its end of the command; -1: it has been closed */
	int file; /* -1: it could not be written any more */
	int to;	  /* ours */
};

struct shown {
	pid_t pid;
	bool ended;
	int status;  /* of waitpid(2), once ended */
	int signals; /* signalfd of SIGCHLD */
	struct shown_stream out, err;
	bool lost; /* a file could not be written to its end */
	bool stopping;
};

/* `argv` is looked for in PATH. The files become ours. -ENOENT, -EACCES, ...: it could not
 * be started. */
int shown_start(struct shown *shown, char *const *argv, int stdout_file, int stderr_file,
		int stdout_to, int stderr_to);
/* Takes in what it says until that moment (CLOCK_MONOTONIC, ns), its end, or stop_asked(). */
void shown_wait(struct shown *shown, uint64_t until_ns);
/* SIGTERM to its group, and SIGKILL to what is left of it when the command has ended, or
 * after five seconds. Returns when all of them have gone, or two seconds after its end. */
void shown_stop(struct shown *shown);
/* After its end: what is left in the pipes, and the files are closed. */
void shown_finish(struct shown *shown);

#endif
