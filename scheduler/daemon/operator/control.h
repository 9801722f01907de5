/* SPDX-License-Identifier: MIT */
/*
 * Control requests (PROTOCOL_CONTROL): suspend or resume a process, set its priority, set the
 * policy of a node. Each request is answered with one sentence, and logged with its sender.
 *
 * A suspension by request always has a lease: a number of seconds, or as long as the command's
 * connection is open. `resume` ends both. A priority by request is in force until the process
 * ends, whatever the process requests itself, or until it is withdrawn. Requests survive the
 * worker (saved_state.h), but not the daemon.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_OPERATOR_CONTROL_H
#define KFDSHIM_SCHEDULER_DAEMON_OPERATOR_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/protocol.h"

struct client;
struct socket_peer;
struct worker;

/* A part of struct client. */
struct control {
	/* fields of a workload */
	int own_priority;  /* the priority that it requests itself */
	bool priority_set; /* a request has set another priority */
	bool leased;	   /* a request holds it suspended now */
	uint64_t lease_ns; /* end of a lease in seconds, CLOCK_MONOTONIC ns; 0: none */

	/* fields of a command, while its request is handled, waits or holds: its target */
	int pidfd; /* pidfd of the target; -1: none */
	pid_t pid;
	uint64_t started, queried_ns; /* start time of the target; when the suspend was requested */
	bool holds;		      /* the lease lasts as long as the connection */
	bool replied; /* the command was informed that the target is suspended, or will be */
};

/* Returns true if the peer is allowed to send control requests: root, and members of admin_group
 * of the configuration. A process of another user namespace than the daemon's is never allowed,
 * because any user can be root there. */
bool control_may(const struct worker *worker, const struct socket_peer *peer);

/* Sets the policies that requests have set, in this worker or an earlier one, again. Called
 * after core_configure(), which drops them. */
void control_policies(struct worker *worker);

/* Handles the request in `hello`. May be run again after an answer of kfdschedd-read. */
void control_request(struct worker *worker, struct client *client,
		     const struct protocol_hello *hello, uint64_t now);

/* A workload has registered: applies the requests about it. */
void control_came(struct worker *worker, struct client *client, uint64_t now);

/* A workload or a command has ended (it is CLIENT_DEAD). */
void control_gone(struct worker *worker, struct client *client);

/* Called in each loop iteration: replies to suspend requests that have taken effect. */
void control_step(struct worker *worker, uint64_t now);

/* Called in each sweep: handles the end of a target, and of leases. */
void control_overdue(struct worker *worker, struct client *client, uint64_t now);

/* Returns true if the client may have to be suspended, for other processes or by request. */
bool control_may_be_held(const struct client *client);

#endif
