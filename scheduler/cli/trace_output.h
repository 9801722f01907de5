/* SPDX-License-Identifier: MIT */
/*
 * Where a trace goes: a timeline, and from there lines of text or of JSON, or a file for
 * Perfetto; and what is to be known of it, which is said on stderr and stands in that file.
 *
 * Threads: the first, but trace_output_add(). Exit codes as the verb's; CLI_GO_ON: none yet.
 */
#ifndef KFDSHIM_CLI_TRACE_OUTPUT_H
#define KFDSHIM_CLI_TRACE_OUTPUT_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "scheduler/cli/simulation.h"
#include "scheduler/cli/trace.h"

struct perfetto;

struct trace_output {
	const struct trace_options *options; /* borrowed */
	uint64_t begin_ns;		     /* of the trace */
	FILE *file;			     /* stdout, or Perfetto's */
	bool unread; /* nobody takes stdout any more: a pipe's reader, a terminal. Its user's */
	bool simulated;
	struct simulation simulation;
	json_t *notes;
	/* Lines of HIP's log that are left out: older than the trace, later than when they were
	 * read. Both are reported at the end. */
	uint64_t hip_before, hip_future;
	pthread_mutex_t mutex; /* of the timeline */
	struct timeline *timeline;
	struct perfetto *perfetto;
};

/* From now on. trace_output_free() in any case, once. */
int trace_output_open(struct trace_output *output, const struct trace_options *options);
void trace_output_free(struct trace_output *output);
/* Any thread. What was over before the trace is left out; what began before it is cut. */
void trace_output_add(struct trace_output *output, const struct trace_event *event);
/* Hands out what has waited long enough at now_ns; UINT64_MAX: all. */
void trace_output_flush(struct trace_output *output, uint64_t now_ns);
/* One sentence, on stderr and for who opens the file. */
void trace_note(struct trace_output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Can nothing more be written? */
bool trace_output_failed(const struct trace_output *output);
/* All of it is there: writes the rest, and says how much it is. end_ns: of the trace. */
int trace_output_end(struct trace_output *output, uint64_t end_ns);

/* CLOCK_REALTIME less CLOCK_MONOTONIC, now. */
int64_t trace_wall_ns(void);

#endif
