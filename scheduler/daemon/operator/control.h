/* SPDX-License-Identifier: MIT */
/*
 * Control requests (PROTOCOL_CONTROL): suspend or resume a process, set its priority, set the
 * policy of a node. Each request is answered with one sentence, and logged with its sender.
 *
 * lease.h has suspensions. A priority by request is in force until the process ends, whatever the
 * process requests itself, or until it is withdrawn. Requests survive the worker (saved_state.h),
 * but not the daemon.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OPERATOR_CONTROL_H
#define KFDSHIM_SCHEDULER_DAEMON_OPERATOR_CONTROL_H

#include "scheduler/daemon/worker.h"

/* Sets the policies that requests have set, in this worker or an earlier one, again. Called
 * after core_configure(), which drops them. */
void control_policies(struct worker *worker);

/* Handles the request in `hello`. May be run again after an answer of kfdschedd-read. */
void control_request(struct worker *worker, struct client *client,
		     const struct protocol_hello *hello, uint64_t now);

#endif
