/* SPDX-License-Identifier: MIT */
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
#ifndef KFDSHIM_CLI_TRACE_SOURCE_TRACEFS_H
#define KFDSHIM_CLI_TRACE_SOURCE_TRACEFS_H

#include "cli/trace/timeline.h"

#define TRACEFS_ROOT "/sys/kernel/tracing"
#define TRACEFS_WHY 512

struct tracefs {
	char directory[192]; /* directory of the instance; empty: none */
	int pipe;	     /* trace_pipe, for poll(2); -1: not open */
	bool graph;	     /* functions with durations; false: only their calls */
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
/* Writes the name of our instance. It contains the pid and the start time of this process, so that
 * a later run can find out whether the owner has ended. */
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
