/* SPDX-License-Identifier: MIT */
/*
 * Scans of the clients' shared memory (struct client_shm), and a rate limit for them. A client can
 * write its shared memory and its eventfd at any rate. The daemon scans it at most 5,000 times a
 * second, and all clients of one user together at most 60,000 times. An online client with 2,000
 * requests a second needs 4,000 scans. A scan beyond the limit is deferred for a fifth of a
 * millisecond, together with other deferred scans; until then the client's eventfd does not wake
 * the loop.
 *
 * Deferred scans are counted in the status (`shm_scans_deferred`). A client that exceeds its own
 * limit, not only that of its user, is named in the log once.
 *
 * Some clients carry out holds themselves: those with KFDSHIM_LEVEL self, gate or weight, and those
 * that have fallen to level self or gate (client_level.h). For them an action of the core becomes a
 * command in the shared memory of the client (HOLD_CMD), and a scan finds its acknowledgement. The
 * daemon opens no debug session on such a process and does not trace it.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_SCAN_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_SCAN_H

#include "scheduler/daemon/worker.h"

/* Scans the shared memory and passes changes to the core, without a limit. Returns true if
 * something had changed. */
bool client_scan(struct worker *worker, struct client *client, uint64_t now);

/* Scans the shared memory of a client that has written its eventfd, or defers the scan. Returns
 * true if something had changed. */
bool scan_woken(struct worker *worker, struct client *client, uint64_t now);

/* Scans the shared memory without a wake-up by the client. Only a scan that finds a change counts
 * for the rate limits. Returns true if something had changed. */
bool scan_unwoken(struct worker *worker, struct client *client, uint64_t now);

/* Makes the deferred scans when they are due. Called in each loop iteration. */
void scan_late(struct worker *worker, uint64_t now);

/* Removes a client that has ended from the list of deferred scans. */
void scan_limit_forget(struct worker *worker, struct client *client);

/* Handles a hold command (HOLD_CMD) that was not acknowledged within 1 s. Called in each sweep
 * (periodic check, loop.c) for a client with hold_cmd_level. */
void hold_cmd_overdue(struct worker *worker, struct client *client, uint64_t now);

/* Returns the time at which scan_late() is due; UINT64_MAX if no scan is deferred. */
uint64_t scan_next_ns(const struct worker *worker);

#endif
