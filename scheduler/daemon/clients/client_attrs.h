/* SPDX-License-Identifier: MIT */
/*
 * Effective attributes of a client: its priority, objective (SLO), level, group and rights. In
 * order of increasing strength, a value comes from
 * - the client itself;
 * - the rule of the configuration that matches the client;
 * - a control request (lease.h).
 *
 * A client that requests level observe for itself preempts no other client, whatever a rule sets.
 * It is held if a rule or a control request gives it a priority: at level gate, because its runtime
 * is not enabled.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_ATTRS_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_CLIENT_ATTRS_H

#include "scheduler/daemon/worker.h"

/* Computes the effective attributes of a new client (priority, slo_us, group, tenant,
 * hold_cmd_level) from its identity, its own values and `subject`. The priority of an external
 * process (external.h) is set elsewhere. */
void client_attrs_init(struct worker *worker, struct client *client,
		       const struct proc_attrs *subject);

/* Passes the tenant, rights and group of the client to the core, after the core has added the
 * client. */
void client_attrs_slot(struct worker *worker, const struct client *client, uint64_t now);

/* Returns the priority that the rule or the client itself sets, without control requests. */
int client_attrs_priority(const struct client *client);

/* Updates the effective priority and SLO (those in force) when the values that the client requests
 * may have changed. A priority that a control request has set is not changed. */
void client_attrs_changed(struct worker *worker, struct client *client);

/*
 * Marks each client to which the configuration worker->coming gives other values than it has now,
 * by the attributes that were read last. Begins at slot worker->compared and stops at `end_ns`
 * (CLOCK_MONOTONIC), but after at least one client. Clients that register or change meanwhile are
 * marked without a comparison. Returns true if all have been compared.
 */
bool client_attrs_compare(struct worker *worker, uint64_t end_ns);

/* Applies a new configuration, which is in force now, to each client that client_attrs_compare()
 * has marked. `again`: also plan to read the attributes of each client again, one client after the
 * other. A changed level takes effect when a process registers the next time. */
void client_attrs_configured(struct worker *worker, bool again, uint64_t now);

/* Reads again what the rules match (struct proc_attrs: cgroup, executable, groups), if that is due.
 * If it has changed, evaluates the rules again, applies the result and returns true. Called in each
 * sweep (periodic check, loop.c), between reader_begin() and reader_end(). */
bool client_attrs_overdue(struct worker *worker, struct client *client, uint64_t now);

/* Sets the effective priority (the one in force). `by` is the command that requested it; NULL: the
 * workload itself or its rule has requested it. */
void client_set_priority(struct worker *worker, struct client *client, int priority,
			 const struct client *by);

#endif
