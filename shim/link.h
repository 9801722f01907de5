/* SPDX-License-Identifier: MIT */
/*
 * The link to the daemon: handshake, lane, board, wake. Without a daemon every
 * function here does nothing; the agent's own state is complete, and a daemon
 * that comes (or comes back) gets all of it.
 */
#ifndef KFDSHIM_SHIM_LINK_H
#define KFDSHIM_SHIM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/queues.h"

/* The sampler's thread only. link_step connects, at most once a second, takes
 * the welcome, and returns when it wants to be called again (CLOCK_MONOTONIC
 * ns, UINT64_MAX: not by itself). link_socket: to be polled for reading, -1:
 * none. link_readable: it can be read. */
uint64_t link_step(uint64_t now_ns);
int link_socket(void);
void link_readable(void);

/* Under the lock: copies into the lane, wakes the daemon if it sleeps. */
void link_queue(const struct queue *queue);
void link_queue_gone(const struct queue *queue);
void link_node(uint32_t node, bool active, uint64_t now_ns);
void link_runtime(void);
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
