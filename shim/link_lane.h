/* SPDX-License-Identifier: MIT */
/*
 * What the daemon is told through the lane, and asked there. Without a daemon there is no
 * lane: only the debug log (link_event) and the peers (link_node, link_queue) are told. The
 * agent's own state is complete, and a daemon that comes (or comes back) gets all of it.
 */
#ifndef KFDSHIM_SHIM_LINK_LANE_H
#define KFDSHIM_SHIM_LINK_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/lane.h"
#include "shim/queues.h"

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
/* Under the lock: notes in queues.nodes where the daemon holds less urgent work now. */
void link_look_at_board(uint64_t now_ns);

/*
 * Around a call of the driver that a suspended process would sleep in. Begin:
 * announces it and, if the process is suspended, waits at most 10 ms for the
 * daemon to resume it. NULL: no daemon; else for link_leave_end. Not under the
 * lock.
 */
struct lane *link_leave_begin(void);
void link_leave_end(struct lane *lane);

/* ---- for link.c: the sampler's thread ---- */

/* Under the lock: takes over all three, and tells everything. wake_fd wakes the daemon. */
void link_lane_begin(struct lane *lane, const struct board *board, int wake_fd, uint64_t now_ns);
/* Not under the lock. false: somebody is in the middle of a call of the driver, and uses
 * the lane; or there is none. */
bool link_lane_end(void);
/* Also under the lock. NULL: there is none. */
struct lane *link_lane(void);
/* While there is a lane. After a change of it: wakes the daemon, if it sleeps. And when its
 * heart beat last (CLOCK_MONOTONIC ns; 0: not yet). */
void link_lane_wake(void);
uint64_t link_lane_heartbeat_ns(void);
/* As the daemon is to know it. Any thread. */
int link_lane_priority(void);
/* Fork child. */
void link_lane_forget(void);

#endif
