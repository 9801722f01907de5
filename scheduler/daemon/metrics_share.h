/* SPDX-License-Identifier: MIT */
/*
 * Snapshots from the worker to the process that serves them, in one direction: the reader
 * has the memory mapped read-only and cannot map it otherwise (the file behind it is
 * sealed and closed), so whatever becomes of the reader, the worker never reads a word
 * that it wrote. There are two slots; the number of the last whole snapshot says which one
 * to read, and a number that changed during a copy says to copy again.
 *
 * The memory is the watchdog's, so snapshots outlive the worker, and the counts of the
 * reader's own outlive the reader.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_SHARE_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/daemon/log.h"
#include "scheduler/daemon/metrics_text.h"

/* What the reader counts of itself; the reader writes, the next reader goes on. */
struct metrics_reader {
	uint64_t refused_calls;
	struct log_losses log;
};

/* The watchdog, before forks: 0 or a negative errno. Without it the rest does nothing. */
int metrics_share_create(void);
/* The watchdog, when a worker has ended: its snapshot is no longer current. */
void metrics_share_worker_ended(void);

/* The worker: where to write the next snapshot (NULL: no process serves them), and then
 * that it is whole. */
struct metrics_snapshot *metrics_share_room(void);
void metrics_share_publish(void);

/* The reader: its own counts. */
struct metrics_reader *metrics_share_counts(void);
/* The reader, before it serves: unmaps every shared mapping that the process could write
 * (those of watchdog and worker), but for its own counts. 0 or a negative errno. */
int metrics_share_read_only(void);
/* Is there a snapshot of a worker that runs? */
bool metrics_share_current(void);
/* A copy of the last one. false: there is none, or its writer is faster than a copy. */
bool metrics_share_read(struct metrics_snapshot *out);

#endif
