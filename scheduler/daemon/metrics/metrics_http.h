/* SPDX-License-Identifier: MIT */
/*
 * The HTTP service of GET /metrics, on loopback only. The watchdog owns the listening socket, so
 * that the port outlives all other processes. A separate process, kfdschedd-http, accepts and
 * parses requests. Any local user can send it input to parse. So it has no capability, no device,
 * no write access to memory of the worker, and a narrow filter of system calls (FILTER_METRICS).
 *
 * It accepts connections while there is a snapshot of a running worker. Otherwise a connection
 * waits in the queue of the socket until the watchdog has started the next worker.
 *
 * The worker passes metrics snapshots through shared memory to the process that serves them ("the
 * reader", kfdschedd-http). Data flows in one direction only: the reader has mapped the memory
 * read-only and cannot map it writable, because its memfd is sealed and closed. So the worker never
 * reads a word that the reader wrote, even if an attacker takes over the reader.
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

#include <stddef.h>

#include "scheduler/daemon/log.h"
#include "scheduler/daemon/metrics/metrics_text.h"

/*
 * Listens on 127.0.0.1. Called before the first fork. If it is not called, the other functions have
 * no effect.
 *
 * Returns 0, or a negative errno with one sentence in `problem`.
 */
int metrics_http_listen(uint16_t port, char *problem, size_t size);

/* Serves metrics at a socket that is listening already. Takes ownership of the socket. */
void metrics_http_use(int socket);

/* Returns the listening socket; -1: there is none. */
int metrics_http_listener(void);

/* The main function of kfdschedd-http, which the watchdog forks. Returns the exit code of the
 * process. */
int metrics_http_run(void);

/* ---- snapshots ---- */

/* Counters of the reader process (kfdschedd-http), which writes them. The next reader process
 * continues them. */
struct metrics_reader {
	uint64_t refused_calls;
	struct log_losses log;
};

/* Creates the shared memory. Called by the watchdog before the first fork. Returns 0 or a negative
 * errno. If it is not called, the functions below have no effect. */
int metrics_share_create(void);

/* For the watchdog: marks the snapshot of the metrics as not current, because its worker has
 * ended. */
void metrics_share_worker_ended(void);

/* For the worker: metrics_share_room() returns the slot for the next snapshot, or NULL if no
 * process serves metrics. metrics_share_publish() publishes the slot after it was filled. */
struct metrics_snapshot *metrics_share_room(void);
void metrics_share_publish(void);

/* Reader: returns its own counters. */
struct metrics_reader *metrics_share_counts(void);

/* Unmaps each shared mapping that the process can write (those of the watchdog and the worker),
 * except its own counters. Called by the reader before it serves. Returns 0 or a negative errno. */
int metrics_share_read_only(void);

/* Returns true if there is a metrics snapshot of a worker that is running. */
bool metrics_share_current(void);

/* Copies the last snapshot of the metrics. Returns false if there is none, or if snapshots are
 * written faster than they can be copied. */
bool metrics_share_read(struct metrics_snapshot *out);

#endif
