/* SPDX-License-Identifier: MIT */
/*
 * A timeline as trace event JSON, which Perfetto (ui.perfetto.dev) and chrome://tracing
 * read. It is written as it comes; of what has not ended yet only the beginnings are kept,
 * for so many queues and processes as there are.
 *
 * Every bar is one complete event ("X"), written when it ends, so nothing is ever begun
 * and not ended. Tracks: one a queue, one a process for its being off the GPU, its decisions
 * and its other events, one a node, one a thread of the driver and of HIP. A number of a
 * process above PERFETTO_OURS is none: the daemon's, the driver's and the nodes' tracks
 * stand there.
 * Threads: one. Errors of the file are told by perfetto_end().
 */
#ifndef KFDSHIM_CLI_TRACE_PERFETTO_H
#define KFDSHIM_CLI_TRACE_PERFETTO_H

#include <stdio.h>

#include "scheduler/cli/trace_event.h"

#define PERFETTO_OURS 4194304 /* the kernel's own bound of a pid */

struct perfetto;

/* Begins the file, which stays the caller's. NULL: no memory. */
struct perfetto *perfetto_begin(FILE *file);
void perfetto_add(struct perfetto *perfetto, const struct trace_event *event);
/* Ends all bars at end_ns and the file with what is to be known of it (borrowed), and frees
 * it. 0, or a negative errno of the file. */
int perfetto_end(struct perfetto *perfetto, uint64_t end_ns, json_t *about);

#endif
