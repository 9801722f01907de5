/* SPDX-License-Identifier: MIT */
/*
 * What people order (PROTOCOL_ORDER): that a process stands still for a while, goes on,
 * has another priority; that a node has another policy. Each order is answered with one
 * sentence, and logged with whose it was.
 *
 * A suspension that a person wants is always leased: for a number of seconds, or for as
 * long as the command's connection lasts. `resume` ends both. A priority that a person
 * gave counts until the process ends, whatever it says of itself, or until it is taken
 * back. What is ordered outlives the worker (kept.h), not the daemon.
 *
 * All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CONTROL_H
#define KFDSHIM_SCHEDULER_DAEMON_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/protocol.h"

struct client;
struct peer;
struct worker;

/* A part of struct client. */
struct control {
	/* of a workload */
	int own_priority;  /* what it says */
	bool priority_set; /* and a person says otherwise */
	bool leased;	   /* a person wants it suspended */
	uint64_t lease_ns; /* until then; 0: not for a time */

	/* of a command, while its order is served or it waits or holds: about whom */
	int pidfd; /* -1: of nobody */
	pid_t pid;
	uint64_t started, asked_ns;
	bool holds;    /* while the connection lasts */
	bool answered; /* that it is suspended, or will be */
};

/* May this peer order? Root and members of the configuration's admin_group may,
 * unless they are of another user namespace than the daemon: there anybody is root. */
bool control_may(const struct worker *worker, const struct peer *peer);

/* After core_configure(), which forgets them: the policies that were ordered, this worker
 * or an earlier one. */
void control_policies(struct worker *worker);

/* An order came. */
void control_order(struct worker *worker, struct client *client, const struct protocol_hello *hello,
		   uint64_t now);
/* A workload is served from now on: what was ordered of it counts. */
void control_came(struct worker *worker, struct client *client, uint64_t now);
/* A workload or a command has gone (it is CLIENT_DEAD). */
void control_gone(struct worker *worker, struct client *client);
/* At every turn of the loop: answers the orders to suspend that have come true. */
void control_step(struct worker *worker, uint64_t now);
/* At every sweep: a process that has ended while it is held, a lease that has. */
void control_overdue(struct worker *worker, struct client *client, uint64_t now);
/* Might anybody want it suspended, other processes or a person? */
bool control_may_be_held(const struct client *client);

#endif
