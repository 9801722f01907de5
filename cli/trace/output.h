/* SPDX-License-Identifier: MIT */
/*
 * Output of a trace: events pass through the timeline (timeline.h) and are then written as lines of
 * text, lines of JSON, or a file for Perfetto. Notes about what the trace lacks are printed on
 * stderr and stored in the file.
 *
 * Threads: all functions are for the first thread only, except trace_output_add(). Results: exit
 * codes of kfdsched; CLI_GO_ON: no exit code yet.
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
	/* True if the reader of stdout (a pipe, a terminal) is gone; set by the main loop. */
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

/* Opens the output and begins the trace at the current time. Returns CLI_GO_ON or the exit code.
 * trace_output_free() must be called once in any case. */
int trace_output_open(struct trace_output *output, const struct trace_options *options);
/* Frees the memory. Does not write what is left: see trace_output_end(). */
void trace_output_free(struct trace_output *output);
/* Adds an event. Can be called by any thread. A TRACE_POINT from before the start of the trace is
 * left out. Other events are kept, because their bars can reach into the trace. */
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

/*
 * Writes a timeline as trace event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing
 * read. Events are written as they arrive. Of a bar that has not ended yet only the start is kept
 * in memory.
 *
 * Each bar is one complete event ("X") and is written when it ends, so no bar is left without an
 * end. There is one track for each queue, for each node, and for each thread of the driver and of
 * HIP. A process can have these tracks, too: "off the GPU", "holds itself", "held processes for it"
 * (its work for which others were suspended), "shim" and "daemon" (all other events). A pid above
 * PERFETTO_OURS in the file is not a process, but a group for the tracks of the daemon, the driver
 * and the nodes.
 *
 * Errors of the file are returned by perfetto_end().
 */
#define PERFETTO_OURS 4194304 /* the kernel's limit of pids (PID_MAX_LIMIT) */

/* Writes the start of the file, which stays open and owned by the caller. */
struct perfetto *perfetto_begin(FILE *file);
/* Writes an event, or if it begins a bar, remembers it: a bar is written when it ends. */
void perfetto_add(struct perfetto *perfetto, const struct trace_event *event);
/* Ends all bars at `end_ns` (CLOCK_MONOTONIC), ends the file with the object `about` (borrowed),
 * and frees `perfetto`. The file stays open. Returns 0 or a negative errno. */
int perfetto_end(struct perfetto *perfetto, uint64_t end_ns, json_t *about);

#endif
