/* SPDX-License-Identifier: MIT */
/*
 * Starts the child processes of one measurement, forwards their messages, and ends them.
 *
 * No child outlives the parent: each is a process group of its own, gets a signal from the kernel
 * when the parent dies, and is ended by its process id.
 *
 * While a process group (a set of children that end together) is open, SIGINT, SIGTERM, SIGHUP and
 * SIGCHLD are blocked and read in process_group_pump(). So an interrupted measurement is cleaned up
 * by the same code as a failed one. SIGPIPE is ignored from process_group_open() on.
 *
 * One process group at a time. Threads: none. Errors: a negative errno; -EINTR: a signal (SIGINT,
 * SIGTERM, SIGHUP) stops the measurement.
 */
#ifndef KFDSHIM_CLI_UTIL_SUBPROCESS_H
#define KFDSHIM_CLI_UTIL_SUBPROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/nodes.h"

/* Most children at a time: a process on each GPU, or two sets of clients and a daemon. */
#define CHILDREN (GPU_NODES_MAX + 1)

struct subprocess {
	char name[48]; /* prefix of its lines on stderr */
	pid_t pid;
	bool ended;
	int status;	 /* from waitpid(2); valid once ended */
	int talk;	 /* pipe from its stderr; -1: closed */
	int ready;	 /* pipe on which it reports that it is ready; -1: none, or done */
	int go;		 /* pipe by which child_go() starts its work; -1: none, or done */
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

/* Opens the process group: blocks the signals and makes `children` empty. Returns 0 or an error. */
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

#endif
