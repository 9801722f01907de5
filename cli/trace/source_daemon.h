/* SPDX-License-Identifier: MIT */
/*
 * What a trace learns from the daemon: the daemon's events, and the events of the processes' shared
 * memory (struct client_shm), which the daemon reads for the trace.
 *
 * Threads: the first thread; trace_daemon_follow() starts one more, which adds events.
 */
#ifndef KFDSHIM_CLI_TRACE_SOURCE_DAEMON_H
#define KFDSHIM_CLI_TRACE_SOURCE_DAEMON_H

#include <stdbool.h>

#include "cli/trace/output.h"

struct kfdsched;
struct shm_source;

struct trace_daemon {
	struct trace_output *output; /* borrowed */
	struct kfdsched *daemon;
	int events_fd;		       /* readable when there are events; -1: none will come */
	struct shm_source *shm_source; /* NULL: shared memory is not followed */
};

/* Subscribes to the daemon's events. Returns false if no daemon answers, which is then recorded as
 * a note of the trace. */
bool trace_daemon_open(struct trace_daemon *daemon, struct trace_output *output);
/* Begins to follow the shared memory of all wanted processes, and adds the state of these
 * processes to the trace. Called after the last fork, because it starts a thread. Returns
 * CLI_GO_ON, or the exit code. */
int trace_daemon_follow(struct trace_daemon *daemon);
/* Reads all events that have arrived. Reconnects if the daemon was restarted, and records the
 * gap as a note. */
void trace_daemon_read(struct trace_daemon *daemon);
/* Reads the shared memory a last time and records missed events as notes. */
void trace_daemon_end(struct trace_daemon *daemon);
/* Closes the connection. */
void trace_daemon_close(struct trace_daemon *daemon);

#endif
