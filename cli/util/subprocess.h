/* SPDX-License-Identifier: MIT */
/*
 * Starts the child processes of one measurement, forwards their messages, and ends them.
 *
 * No child outlives the parent: each child leads its own group of setpgid(2), gets a signal from
 * the kernel when the parent dies, and is ended by its process id.
 *
 * While a struct process_group (a set of children that end together) is open, SIGINT, SIGTERM,
 * SIGHUP and SIGCHLD are blocked and read in process_group_pump(). So an interrupted measurement is
 * cleaned up by the same code as a failed one. SIGPIPE is ignored from process_group_open() on.
 *
 * One struct process_group at a time. Threads: none. Errors: a negative errno; -EINTR: a signal
 * (SIGINT, SIGTERM, SIGHUP) stops the measurement.
 */
#ifndef KFDSHIM_CLI_UTIL_SUBPROCESS_H
#define KFDSHIM_CLI_UTIL_SUBPROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/nodes.h"

/* Maximum number of children at a time: a process on each GPU, or two sets of clients and a
 * daemon. */
#define CHILDREN (GPU_NODES_MAX + 1)

struct subprocess {
	char name[48]; /* prefix of its lines on stderr */
	pid_t pid;
	bool ended;
	int status; /* from waitpid(2); valid once ended */
	int talk;   /* pipe from its stderr; -1: closed */
	int ready;  /* pipe on which the child reports that it is ready; -1: none, or closed */
	int go;	    /* pipe by which child_go() makes the child start work; -1: none, or closed */
	bool is_ready;	 /* it has written its byte */
	char line[1024]; /* incomplete line of its stderr */
	size_t used;	 /* bytes in `line` */
};

struct process_group {
	struct subprocess list[CHILDREN];
	unsigned count;
	int signals;	 /* signalfd */
	int stopped_by;	 /* signal that stops the measurement; 0: none yet */
	sigset_t before; /* signal mask to restore */
};

struct child_spec {
	const char *name;
	const char *const *argv;	/* argv[0] is an absolute path; NULL-terminated */
	const char *const *environment; /* "NAME=VALUE" sets, "NAME" removes; NULL-terminated */
	const char *shim;		/* libkfdshim.so to preload; NULL: none */
	bool sync;			/* add --sync-fd R:W, and fill ready and go */
	int death_signal;		/* signal from the kernel when the parent dies */
};

/* Opens *children: blocks the signals and makes `children` empty. Returns 0 or an error. */
int process_group_open(struct process_group *children);
/* Starts a child. spec->name is copied. Returns the child, valid until process_group_empty(), or
 * NULL with errno (EMFILE: there are already CHILDREN children). */
struct subprocess *process_group_start(struct process_group *children,
				       const struct child_spec *spec);
/*
 * Waits up to timeout_ms for an event and handles all events that have happened: prints lines that
 * children wrote to stderr, sets is_ready of children that are ready, and reaps children that have
 * ended, after it has killed the rest of their process groups. Returns 0, -EINTR or another error.
 */
int process_group_pump(struct process_group *children, int timeout_ms);
/* Makes a child that is ready begin its work. Returns 0 or an error. */
int child_go(struct subprocess *child);
/* Writes how the child ended into `text`, "exited with 3" or "was ended by SIGSEGV", and returns
 * it. */
const char *child_end_text(int status, char text[64]);
/* Ends all children, the youngest first, and removes them from the list. Sends SIGTERM to each
 * child, and after 3 s SIGKILL to the child's group. A child that is still there 15 s later hangs
 * in the driver; it is left behind with a message. */
void process_group_empty(struct process_group *children);
/* Empties the process group and restores the signal mask. */
void process_group_close(struct process_group *children);

/* ---- one command and its output ---- */

/*
 * Runs a command whose output is both written to files and forwarded. The command is a process
 * group of its own. If kfdsched dies, the kernel sends the command SIGTERM. Processes that the
 * command starts and leaves behind become children of kfdsched (PR_SET_CHILD_SUBREAPER).
 *
 * Threads: none; one command at a time, because SIGCHLD, SIGPIPE and the subreaper attribute are
 * changed for the whole process. Errors: a negative errno.
 */

/* One stream of the command: stdout or stderr. */
struct child_stream {
	int from; /* read end of the command's pipe; -1: closed */
	int file; /* fd of the file with a copy of the output; -1: closed, or a write failed */
	int to;	  /* fd to which output is forwarded, closed by its owner; -1: a write failed */
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
 * stop_requested() is true. Returns false at the time `until_ns` (CLOCK_MONOTONIC; UINT64_MAX: no
 * limit). */
bool child_output_wait(struct child_output *output, uint64_t until_ns);
/* Sends SIGTERM to the process group. Sends SIGKILL as soon as the command has ended, but at the
 * latest after five seconds. Waits until the whole group is gone, but not longer than two seconds
 * after the end of the command. */
void child_output_stop(struct child_output *output);
/* Called once the command has ended: reads what is left in the pipes, and closes the files and all
 * other fds of *output. */
void child_output_finish(struct child_output *output);

/* Finds the descendants of process `root` in /proc: its children, their children, and so on. A
 * process whose parent has ended is found, too, if `root` is its subreaper (prctl(2)). Writes their
 * pids to `out`, ascending, at most `max`, without `root` itself, zombies and threads. Returns how
 * many were written, or a negative errno. */
int descendants_of(pid_t root, pid_t *out, size_t max);

#endif
