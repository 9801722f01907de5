/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics by HTTP, on loopback only. The watchdog owns the listening socket, so that the
 * port outlives all other processes. A separate process, kfdschedd-http, accepts and parses
 * requests. It has no capability, no device, no memory of the worker that it could write,
 * and a narrow filter of system calls (FILTER_METRICS), because any local
 * user can write what it parses.
 *
 * It accepts connections while there is a snapshot of a running worker. Otherwise a connection
 * waits in the queue of the socket until the watchdog has started the next worker.
 *
 * Shared memory for metrics snapshots, from the worker to the process that serves them ("the
 * reader", kfdschedd-http). It works in one direction: the reader has the memory mapped
 * read-only and cannot map it otherwise, because the file behind it is sealed and closed. So the
 * worker never reads a word that the reader wrote, even if an attacker takes over the reader.
 *
 * There are two slots. The number of the last complete snapshot selects the slot to read; if the
 * number has changed during a copy, the copy is repeated.
 *
 * The watchdog owns the memory, so snapshots outlive the worker, and the reader's own counters
 * outlive the reader.
 *
 * Threads: main() before the first fork, the watchdog, the worker's loop, and kfdschedd-http, which
 * have one thread each.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_HTTP_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/daemon/log.h"
#include "scheduler/daemon/metrics/metrics_text.h"

/*
 * Listens on 127.0.0.1, before the first fork. Without this the rest of this file has no effect.
 *
 * Returns 0, or a negative errno with one sentence in `problem`.
 */
int metrics_http_listen(uint16_t port, char *problem, size_t size);

/* As metrics_http_listen(), with a socket that is listening already. Takes ownership. */
void metrics_http_use(int socket);

/* Returns the listening socket; -1: there is none. */
int metrics_http_listener(void);

/* The main function of kfdschedd-http, which the watchdog forks. Returns the exit code of the
 * process. */
int metrics_http_run(void);

/* ---- snapshots ---- */

/* Counters of the reader itself. The reader writes them, and the next reader continues. */
struct metrics_reader {
	uint64_t refused_calls;
	struct log_losses log;
};

/* Watchdog, before the first fork: creates the memory. Returns 0 or a negative errno. Without it
 * the other functions have no effect. */
int metrics_share_create(void);

/* Watchdog: marks the snapshot as not current any more, because its worker has ended. */
void metrics_share_worker_ended(void);

/* Worker: metrics_share_room() returns the slot for the next snapshot, or NULL if no process
 * serves metrics. metrics_share_publish() publishes the slot after it was filled. */
struct metrics_snapshot *metrics_share_room(void);
void metrics_share_publish(void);

/* Reader: returns its own counters. */
struct metrics_reader *metrics_share_counts(void);

/* Reader, before it serves: unmaps each shared mapping that the process can write (those of the
 * watchdog and the worker), except its own counters. Returns 0 or a negative errno. */
int metrics_share_read_only(void);

/* Returns true if there is a snapshot of a worker that is running. */
bool metrics_share_current(void);

/* Copies the last snapshot. Returns false if there is none, or if snapshots are written faster
 * than they can be copied. */
bool metrics_share_read(struct metrics_snapshot *out);

#endif
