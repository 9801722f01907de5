/* SPDX-License-Identifier: MIT */
/*
 * Runs a command whose output is both written to files and forwarded. The command is a process
 * group of its own. If kfdsched dies, the kernel sends the command SIGTERM. Processes that the
 * command starts and leaves behind become children of kfdsched (PR_SET_CHILD_SUBREAPER).
 *
 * Threads: none; one command at a time, because SIGCHLD, SIGPIPE and the subreaper attribute are
 * changed for the whole process. Errors: a negative errno.
 */
#ifndef KFDSHIM_CLI_UTIL_CHILD_OUTPUT_H
#define KFDSHIM_CLI_UTIL_CHILD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One stream of the command: stdout or stderr. */
struct child_stream {
	int from; /* read end of the command's pipe; -1: closed */
	int file; /* fd of the file with a copy of the output; -1: closed, or a write failed */
	int to;	  /* output is forwarded to this fd; -1: a write failed; not closed here */
};

struct child_output {
	pid_t pid;
	bool ended;
	int status;  /* as from waitpid(2); valid if `ended` */
	int signals; /* signalfd for SIGCHLD */
	struct child_stream out, err;
	bool lost; /* a file does not have all of the output */
	/* child_output_stop() has begun. */
	bool stopping;
};

/* Starts the command `argv`, found by PATH. Its output is copied to the two files and forwarded to
 * the fds `stdout_to` and `stderr_to`. Takes ownership of the two files, also on an error. Returns
 * 0, or a negative errno if the command could not be started (-ENOENT, -EACCES, ...). */
int child_output_start(struct child_output *output, char *const *argv, int stdout_file,
		       int stderr_file, int stdout_to, int stderr_to);
/* Copies output and reaps children. Returns true as soon as the command has ended or
 * stop_requested() is true; false at the time `until_ns` (CLOCK_MONOTONIC; UINT64_MAX: no
 * limit). */
bool child_output_wait(struct child_output *output, uint64_t until_ns);
/* Sends SIGTERM to the process group, and SIGKILL when the command has ended or after five seconds.
 * Returns when the whole group is gone, or two seconds after the end of the command. */
void child_output_stop(struct child_output *output);
/* Called once the command has ended: reads what is left in the pipes, and closes the files and
 * all other fds. */
void child_output_finish(struct child_output *output);

/* Finds the descendants of process `root` in /proc: its children, their children, and so on. A
 * process whose parent has ended is found, too, if `root` is its subreaper (prctl(2)). Writes their
 * pids to `out`, ascending, at most `max`, without `root` itself, zombies and threads. Returns how
 * many were written, or a negative errno. */
int descendants_of(pid_t root, pid_t *out, size_t max);

#endif
