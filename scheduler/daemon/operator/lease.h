/* SPDX-License-Identifier: MIT */
/*
 * Control requests (PROTOCOL_CONTROL, control.c): suspend or resume a process, set its priority,
 * set the policy of a node. Each request is answered with one sentence, and logged with its sender.
 *
 * A suspension by request (lease.c) always has a lease: a number of seconds, or as long as the
 * command's connection is open. A request to resume ends a lease of either kind. A priority by
 * request is in force until the process ends, whatever the process requests itself, or until it is
 * withdrawn. What requests have set survives the worker (struct saved_state), but not the daemon.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OPERATOR_LEASE_H
#define KFDSHIM_SCHEDULER_DAEMON_OPERATOR_LEASE_H

#include "scheduler/daemon/worker.h"

/* Handles the request in `hello`. May be run again after an answer of kfdschedd-read. */
void control_request(struct worker *worker, struct client *client,
		     const struct protocol_hello *hello, uint64_t now);

/* Sets again the policies that requests have set, in this worker or an earlier one. Called after
 * core_configure(), which resets them. */
void control_policies(struct worker *worker);

/* Returns the entry of process `pid` that started at `started`, or NULL. The pointer is valid
 * until the entry is stored or removed. */
struct saved_process *saved_find(struct saved_state *saved, pid_t pid, uint64_t started);

/*
 * Replaces the entry of a process. A process that has neither a priority nor a lease is removed. If
 * the table is full, the entry of a process that has ended is reused; this needs an answer of
 * kfdschedd-read, so the caller runs between reader_begin() and reader_end() (reader.h).
 *
 * Returns false if there is no room, or if that answer has not arrived yet (reader_waits()).
 */
bool saved_store(struct saved_state *saved, const struct saved_process *process);

/* Replaces the policy of node `gpu_id` (0: of all nodes without their own). Returns false if
 * there is no room. */
bool saved_store_policy(struct saved_state *saved, uint32_t gpu_id,
			const struct core_policy *policy);

/* Saves what requests have set for a process: `priority` (PRIORITY_OWN: none) and the end of a
 * lease. Returns false if there is no room, after a reply to the command `from`. Also returns
 * false, without a reply, if an awaited answer of kfdschedd-read may free an entry. */
bool lease_save(struct worker *worker, struct client *from, const struct saved_process *process);

/* Saves `priority` for a client, as lease_save() does; the saved lease of the client is kept. */
bool lease_save_priority(struct worker *worker, struct client *from, const struct client *client,
			 int priority);

/* Suspends the workload `client`, as the command `from` requests, for `lease_s` seconds, or, if
 * that is 0, as long as the command's connection is open. */
void lease_suspend(struct worker *worker, struct client *from, struct client *client,
		   uint32_t lease_s, uint64_t now);

/* Ends all leases (suspensions by request) of the workload `client`, as the command `from`
 * requests, and replies. */
void lease_resume(struct worker *worker, struct client *from, struct client *client, uint64_t now);

/* Restores, for a workload that has just registered, what requests have set for its process. */
void lease_restore(struct worker *worker, struct client *client, uint64_t now);

/* Cleans up after a workload or a command (connection with a request) that has ended (it is
 * CLIENT_DEAD): ends the lease of the command, or forgets what requests have set for a process that
 * has ended. */
void lease_gone(struct worker *worker, struct client *client);

/* Replies to suspend requests that have taken effect. Called in each loop iteration. */
void lease_step(struct worker *worker, uint64_t now);

/* Ends a lease (suspension by request) whose time is over, and replies to a suspend request whose
 * target is suspended or has ended. Called in each sweep (periodic check, loop.c). */
void lease_overdue(struct worker *worker, struct client *client, uint64_t now);

#endif
