/* SPDX-License-Identifier: MIT */
/*
 * Writes a timeline as trace event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing
 * read. Events are written as they arrive. Of bars that have not ended yet only the start is kept
 * in memory, one for each queue and process.
 *
 * Each bar is one complete event ("X") and is written when it ends, so no bar is left without an
 * end. Tracks: one for each queue; for each process
 * "off the GPU", "holds itself", "needs the GPU of others" (the causes of suspends), "shim" and
 * "daemon" (all other events), as far as they have events; one for each node; one for each thread
 * of the driver and of HIP. "Process" ids above PERFETTO_OURS are not processes, but groups for the
 * tracks of the daemon, the driver and the nodes.
 *
 * Threads: one. Errors of the file are returned by perfetto_end().
 */
#ifndef KFDSHIM_CLI_TRACE_PERFETTO_H
#define KFDSHIM_CLI_TRACE_PERFETTO_H

#include <stdio.h>

#include "cli/trace/timeline.h"

#define PERFETTO_OURS 4194304 /* the kernel's limit of pids (PID_MAX_LIMIT) */

struct perfetto;

/* Writes the start of the file, which stays open and owned by the caller. */
struct perfetto *perfetto_begin(FILE *file);
/* Writes an event. Bars are written when they end. */
void perfetto_add(struct perfetto *perfetto, const struct trace_event *event);
/* Ends all bars at `end_ns` (CLOCK_MONOTONIC), ends the file with the object `about` (borrowed),
 * and frees `perfetto`. The file stays open. Returns 0 or a negative errno. */
int perfetto_end(struct perfetto *perfetto, uint64_t end_ns, json_t *about);

#endif
