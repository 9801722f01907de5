/* SPDX-License-Identifier: MIT */
/*
 * Follows the lanes of processes by the daemon's word: a thread asks for each as often as
 * it takes not to miss any of the events that a lane keeps, and counts those that it has
 * missed all the same.
 *
 * Threads: all functions for one; `emit` is called by the thread of this file alone.
 * `socket` is kept, not copied.
 */
#ifndef KFDSHIM_CLI_TRACE_LANES_H
#define KFDSHIM_CLI_TRACE_LANES_H

#include "scheduler/cli/trace_event.h"

#define LANES_PROCESSES 64u

typedef void lanes_emit(void *context, const struct trace_event *event);

struct lanes;

/* What was before begin_ns is not told, but for what a queue is doing then. NULL: no memory
 * or no thread. */
struct lanes *lanes_start(const char *socket, uint64_t begin_ns, lanes_emit *emit, void *context);
/* fresh: it came just now, so nothing of it was before. false: there are too many. One that
 * is followed already is no error. */
bool lanes_follow(struct lanes *lanes, pid_t pid, const char *comm, bool fresh);
/* It has ended: by now, or there will be, no more of it. */
void lanes_ended(struct lanes *lanes, pid_t pid);
/* Each is asked a last time. What was missed: calls tell() for each process of which
 * something was: `lost` events, and what it did in its last unseen_ns. Frees it. */
void lanes_end(struct lanes *lanes,
	       void (*tell)(void *context, pid_t pid, uint64_t lost, uint64_t unseen_ns),
	       void *context);

#endif
