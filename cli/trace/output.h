/* SPDX-License-Identifier: MIT */
/*
 * Output of a trace: the timeline, and behind it lines of text, lines of JSON, or a file for
 * Perfetto. Notes about what the trace lacks are printed on stderr and stored in the file.
 *
 * Threads: the first thread, except trace_output_add(). Results: exit codes of kfdsched; CLI_GO_ON:
 * no exit code yet.
 */
#ifndef KFDSHIM_CLI_TRACE_OUTPUT_H
#define KFDSHIM_CLI_TRACE_OUTPUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/trace/trace.h"
#include "cli/util/sim_info.h"

struct perfetto;

struct trace_output {
	const struct trace_options *options; /* borrowed */
	uint64_t begin_ns;		     /* start of the trace, CLOCK_MONOTONIC */
	FILE *file;			     /* stdout, or the file for Perfetto */
	/* The reader of stdout (a pipe, a terminal) is gone. Set by the owner of the struct. */
	bool unread;
	bool simulated;
	struct simulation simulation;
	/* Texts of all notes so far. */
	json_t *notes;
	/* Lines of HIP's log that were left out because they are older than the trace, or later
	 * than the time at which they were read. Both are reported at the end. */
	uint64_t hip_before, hip_future;
	pthread_mutex_t mutex; /* protects `timeline` */
	struct timeline *timeline;
	struct perfetto *perfetto;
};

/* Opens the output and begins the trace at the current time. trace_output_free() must be called
 * once in any case. */
int trace_output_open(struct trace_output *output, const struct trace_options *options);
/* Frees the memory. Does not write what is left: see trace_output_end(). */
void trace_output_free(struct trace_output *output);
/* Any thread. Adds an event. A TRACE_POINT from before the start of the trace is left out; other
 * events are kept, because what they begin can still go on. */
void trace_output_add(struct trace_output *output, const struct trace_event *event);
/* Writes the events that have waited long enough at `now_ns` (CLOCK_MONOTONIC);
 * UINT64_MAX: all events. */
void trace_output_flush(struct trace_output *output, uint64_t now_ns);
/* Prints one sentence about the trace on stderr, and keeps it for the Perfetto file. */
void trace_note(struct trace_output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns true if nothing more can be written. */
bool trace_output_failed(const struct trace_output *output);
/* Writes what is left and closes the file, then prints a summary on stderr. `end_ns`: the end of
 * the trace, CLOCK_MONOTONIC. Returns the exit code. */
int trace_output_end(struct trace_output *output, uint64_t end_ns);

/* Returns CLOCK_REALTIME - CLOCK_MONOTONIC at this moment. */
int64_t trace_wall_ns(void);

#endif
