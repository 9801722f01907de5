/* SPDX-License-Identifier: MIT */
/*
 * Clients that hold themselves back (KFDSHIM_LEVEL=self, gate, weight, and who fell to
 * self or gate, level.h): the core's actions become orders in the lane, and the client
 * acknowledges them. No session is opened on such a process, and it is not traced.
 *
 * All functions for the loop's thread, and for clients with client->by_order.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_ORDER_H
#define KFDSHIM_SCHEDULER_DAEMON_ORDER_H

#include "scheduler/daemon/client.h"

/* How a client that says hello with `level` is held; NONE: not by orders. */
enum lane_level order_level(uint32_t level);
/* Looks at what the lane says of it. Was there anything new? */
bool order_scan(struct worker *worker, struct client *client, uint64_t now);
/* The client is to have what the level needs (LANE_PREPARE); level_prepared() follows,
 * when it answers: one that is stopped by a debugger does so later. */
void order_prepare(struct client *client, enum lane_level level, uint64_t now);
/* Carries out one action of the core; false: it was cancelled. */
bool order_act(struct worker *worker, struct client *client, uint64_t now);
/* At every turn of the loop: an order that nobody acknowledges. */
void order_overdue(struct worker *worker, struct client *client, uint64_t now);

#endif
