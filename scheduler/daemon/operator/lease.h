/* SPDX-License-Identifier: MIT */
/*
 * Suspensions by request, and what a request has set for a process.
 *
 * A suspension by request always has a lease: a number of seconds, or as long as the command's
 * connection is open. `resume` ends both. What requests have set survives the worker
 * (saved_state.h), but not the daemon.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OPERATOR_LEASE_H
#define KFDSHIM_SCHEDULER_DAEMON_OPERATOR_LEASE_H

#include "scheduler/daemon/worker.h"

/* Saves what requests have set for a client: `priority`, or PRIORITY_OWN, and the end of a lease.
 * Returns false if there is no room, after a reply to `from` that says so, unless an awaited answer
 * may free an entry. */
bool lease_save(struct worker *worker, struct client *from, const struct saved_process *process);

/* The same for a priority of a client; its lease stays. */
bool lease_save_priority(struct worker *worker, struct client *from, const struct client *client,
			 int priority);

/* The command `from` requests that the workload `client` is suspended for `lease_s` seconds, or, if
 * that is 0, as long as the command's connection is open. */
void lease_suspend(struct worker *worker, struct client *from, struct client *client,
		   uint32_t lease_s, uint64_t now);

/* The command `from` requests the end of all leases of the workload `client`. */
void lease_resume(struct worker *worker, struct client *from, struct client *client, uint64_t now);

/* A workload has registered: applies what requests have set for it. */
void lease_restore(struct worker *worker, struct client *client, uint64_t now);

/* A workload or a command has ended (it is CLIENT_DEAD). */
void lease_gone(struct worker *worker, struct client *client);

/* Called in each loop iteration: replies to suspend requests that have taken effect. */
void lease_step(struct worker *worker, uint64_t now);

/* Called in each sweep: handles the end of a target, and of leases. */
void lease_overdue(struct worker *worker, struct client *client, uint64_t now);

#endif
