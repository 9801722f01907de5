/* SPDX-License-Identifier: MIT */
/*
 * The state of the daemon as JSON (docs/reference/status.md): of all processes, and the complete
 * shared memory of one workload. Shared memory is hostile input: entries with values out of range
 * are left out and counted.
 *
 * Each function returns a new object that the caller owns, or NULL if there is no memory.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OPERATOR_STATUS_H
#define KFDSHIM_SCHEDULER_DAEMON_OPERATOR_STATUS_H

#include <jansson.h>

#include "scheduler/daemon/worker.h"

/* maximum number of list elements in a call, so that no call takes long */
#define STATUS_PIECE 32u

/* Returns the status without "processes". */
json_t *status_head(const struct worker *worker, uint64_t now_ns);

/* status_client() returns an element of "processes" without its "queues". status_queues() returns
 * the queues in lists of at most STATUS_PIECE; if `dump`, in the form of a dump. *at is 0 at the
 * first call, and CLIENT_SHM_QUEUES after the last one. Adds the number of queues that cannot be
 * read to *unreadable. */
json_t *status_client(const struct worker *worker, const struct client *client, uint64_t now_ns);
json_t *status_queues(const struct client *client, bool dump, uint32_t *at, uint32_t *unreadable);

/* status_client_brief() returns the brief form of an element of "processes": the values that change
 * often. status_queue_counts() returns the number of queues on each node. */
json_t *status_client_brief(const struct worker *worker, const struct client *client,
			    uint64_t now_ns);
json_t *status_queue_counts(const struct client *client);

/* status_client_shm() returns a dump of shared memory without "queues", "unreadable_queues" and
 * "events". status_client_shm_events() returns the events after number *at up to `newest` in lists
 * of at most STATUS_PIECE, and advances *at. */
json_t *status_client_shm(const struct client_shm *shm, uint64_t now_ns);
json_t *status_client_shm_events(const struct client_shm *shm, uint64_t *at, uint64_t newest,
				 uint64_t now_ns);

#endif
