/* SPDX-License-Identifier: MIT */
/*
 * The link to the daemon: handshake, lane, board, wake. Without a daemon there is
 * no lane: only the debug log (link_event) and the peers (link_node) are told. The
 * agent's own state is complete, and a daemon that comes (or comes back) gets all
 * of it.
 */
#ifndef KFDSHIM_SHIM_LINK_H
#define KFDSHIM_SHIM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/queues.h"

/* The sampler's thread only. link_step connects, at most once a second, takes
 * the welcome, and returns when it wants to be called again (CLOCK_MONOTONIC
 * ns, UINT64_MAX: not by itself; so it is where there is neither a daemon nor a
 * queue). link_socket: to be polled for reading, -1: none. link_readable: it can
 * be read. */
uint64_t link_step(uint64_t now_ns);
int link_socket(void);
/* To be polled for reading, and read: the daemon has an order, which link_step
 * carries out. -1: none. */
int link_order_fd(void);
void link_readable(void);
/* link_order_fd can be read: the daemon has woken us, or hung up. */
void link_order_readable(void);
/* The sampler's thread: no daemon is there, or it says nothing. */
bool link_alone(void);
/* Any thread, not under the lock: a daemon has taken this process, or would be there
 * to be asked. Keeps errno. */
bool link_has_daemon(void);

/* Under the lock: copies into the lane, wakes the daemon if it sleeps. */
void link_queue(const struct queue *queue);
void link_queue_gone(const struct queue *queue);
/* What happened, for the lane and the debug log, in the order of the calls. NULL:
 * to the process, not to one queue. `value`: lane.h says of what. */
void link_event(enum lane_event_kind kind, const struct queue *queue, uint64_t value);
void link_node(uint32_t node, bool active, uint64_t now_ns);
void link_runtime(void);
/* Priority or SLO are others than they were: the lane says so, nothing else of the
 * link changes. */
void link_wishes(void);
void link_vram(uint32_t gpu_id, uint64_t bytes);
bool link_suspended(void);

/*
 * Around a call of the driver that a suspended process would sleep in. Begin:
 * announces it and, if the process is suspended, waits at most 10 ms for the
 * daemon to resume it. NULL: no daemon; else for link_leave_end. Not under the
 * lock.
 */
struct lane *link_leave_begin(void);
void link_leave_end(struct lane *lane);

/* Fork child: lets go of everything, the parent's stays as it is. */
void link_forget(void);

#endif
