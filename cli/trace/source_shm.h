/* SPDX-License-Identifier: MIT */
/*
 * Follows the events in the shared memory (struct client_shm) of processes. A thread requests a dump of
 * each process from the daemon, often enough to miss none of the CLIENT_SHM_EVENTS events that the shared
 * memory keeps, and counts the events that it has missed nevertheless.
 *
 * Threads: all functions are called from one thread; `emit` is called by the thread of this module
 * only. `socket` is borrowed until shm_source_end().
 */
#ifndef KFDSHIM_CLI_TRACE_SOURCE_SHM_H
#define KFDSHIM_CLI_TRACE_SOURCE_SHM_H

#include "cli/trace/timeline.h"

/* Limit of the processes that are followed at a time. */
#define SHM_SOURCE_PROCESSES 64u

/* Receives an event, which is borrowed for the call. */
typedef void shm_source_emit(void *context, const struct trace_event *event);

struct shm_source;

/* Starts the thread. Events from before `begin_ns` (CLOCK_MONOTONIC) are not emitted; instead, each
 * queue that has work or waits at begin_ns gets an event with that time. Returns NULL if memory is
 * short or the thread could not be started. */
struct shm_source *shm_source_start(const char *socket, uint64_t begin_ns, shm_source_emit *emit,
				    void *context);
/* Follows process `pid`. `fresh`: the process has just connected, so that all of its events belong
 * to the trace. Returns false if too many processes are followed already; true also if `pid` is
 * followed already. */
bool shm_source_follow(struct shm_source *shm_source, pid_t pid, const char *comm, bool fresh);
/* Notes that the process has ended. Its shared memory is not requested any more. */
void shm_source_ended(struct shm_source *shm_source, pid_t pid);
/* Requests each dump a last time, ends the thread and frees `shm_source`. Then calls on_loss() for
 * each process of which something was missed: `lost` events, and everything in its last
 * `unseen_ns` nanoseconds. */
void shm_source_end(struct shm_source *shm_source,
		    void (*on_loss)(void *context, pid_t pid, uint64_t lost, uint64_t unseen_ns),
		    void *context);

#endif
