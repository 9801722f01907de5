/* SPDX-License-Identifier: MIT */
/*
 * The sources of a trace: the daemon, and the kernel driver.
 *
 * From the daemon come its own events, and the events of the processes' shared memory (struct
 * client_shm), which the daemon reads for the trace.
 *
 * Threads: the first thread; trace_daemon_follow() starts one more, which adds events.
 */
#ifndef KFDSHIM_CLI_TRACE_SOURCES_H
#define KFDSHIM_CLI_TRACE_SOURCES_H

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

/*
 * Traces the kernel driver by tracefs: calls of amdkfd's functions, and events of amdgpu and of the
 * GPU scheduler.
 *
 * All tracing takes place in a trace instance of our own, with a buffer of its own, so that the
 * global instance and its users are not affected. tracefs_close() removes the instance. An instance
 * that a killed run has left behind is removed by the next run.
 *
 * Threads: one. Errors: a negative errno with a sentence in `why`.
 */
#define TRACEFS_ROOT "/sys/kernel/tracing"
#define TRACEFS_WHY 512

struct tracefs {
	char directory[192]; /* directory of the instance; empty: none */
	int pipe;	     /* trace_pipe, for poll(2); -1: not open */
	bool graph;	     /* functions have durations; false: only their calls are traced */
	/* Number of functions and events that are traced. */
	unsigned functions, events;
	uint64_t lost;	       /* events that the kernel's buffer could not keep */
	char why[TRACEFS_WHY]; /* one sentence: what is traced, or why nothing is */
	/* Bytes in `line`. */
	size_t used;
	char line[4096]; /* incomplete last line */
};

/* Begins to trace in instance `name` (tracefs_name()) of the tracefs at `root`. Returns 0 or a
 * negative errno; tracefs->why explains the result in both cases. */
int tracefs_open(struct tracefs *tracefs, const char *root, const char *name);
/* Writes the name of the instance of this process. It contains the pid and the start time of the
 * process, so that a later run can find out whether the process has ended. */
void tracefs_name(char name[static 64]);
/* Removes the instances whose process has ended. Returns their number. */
unsigned tracefs_remove_leftovers(const char *root);
/* Reads without waiting, and calls take() for each event. Returns true if there may be more: events
 * can come faster than they are read, so a call reads 4 MiB at most. */
bool tracefs_read(struct tracefs *tracefs, void (*take)(void *context, struct trace_event *event),
		  void *context);
/* tracefs_stop() stops tracing; what the buffer has can still be read. tracefs_close() stops
 * tracing and removes the instance. */
void tracefs_stop(struct tracefs *tracefs);
void tracefs_close(struct tracefs *tracefs);

/* Parses one line of trace_pipe without its newline. Returns false if the line is not an event. A
 * line about lost events adds their number to *lost. */
bool tracefs_parse(const char *line, struct trace_event *out, uint64_t *lost);

#endif
