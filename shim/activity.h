/* SPDX-License-Identifier: MIT */
/*
 * Decides which queues and nodes are active. A queue is active from the first sign of work until
 * its end is shown (docs/internals/activity.md). A node is active while one of its queues is active
 * and not blocked, or while a request of the program is in progress.
 *
 * Signs of work: a reserved slot, a copy, a doorbell that is about to be rung, a write pointer that
 * moved.
 *
 * Signs of the end, strongest first:
 * - a thread of the program has seen an end (ends.h), and nothing was submitted since then;
 * - the completion signal of the queue's last packet is 0 or below, and the pointers are equal;
 * - the pointers are equal and have not moved for 1.5 times the queue's longest kernel.
 *
 * Threads: a hook never waits for the agent's lock. It leaves a request in the queue (`rung`,
 * `moved`, `done`), and a thread that holds the lock serves all requests before it releases the
 * lock.
 */
#ifndef KFDSHIM_SHIM_ACTIVITY_H
#define KFDSHIM_SHIM_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/queue_table.h"

/* The agent's lock. It is held only for memory accesses and a write to an eventfd, never for
 * anything longer. agent_unlock() serves the requests of hooks first. */
void agent_lock(void);
void agent_unlock(void);

/* Hook of struct kfdshim_agent: @signal is a doorbell that is not in the table of active doorbells.
 * Any thread; keeps errno. */
void activity_doorbell(uint64_t signal);
/* Hook: the runtime has accepted a copy. Queues whose write pointer has moved become active. Any
 * thread; keeps errno. */
void activity_copied(void);
/* Serves the requests that were left in queues, or leaves that to the thread that holds the lock.
 * Never waits. Any thread. */
void activity_request(void);

/* The queue was inserted into the table: publishes it, and makes it active if its ring is not
 * empty. Under the lock. */
void activity_queue_added(struct shim_queue *queue, uint64_t now_ns);
/* The queue is about to be removed from the table: it is no longer active or published. Under the
 * lock. */
void activity_queue_removed(struct shim_queue *queue, uint64_t now_ns);

/* As queue_part(); also takes the handle's doorbell out of the table of active doorbells. Under the
 * lock. */
void activity_part(uint64_t hsa_queue);

/* Results of polling the pointers (look.h), all under the lock. This one: the queue has work, so it
 * becomes active. Does nothing to a stopped queue. */
void activity_begin(struct shim_queue *queue, uint64_t now_ns);
/* The write pointer has moved since it was last seen. The queue becomes active; an SDMA queue that
 * has drained already is reported as active and idle at once. */
void activity_submitted(struct shim_queue *queue, uint64_t rptr, uint64_t wptr, uint64_t now_ns);
/* Everything before @wptr of an active queue is over. The queue becomes idle, unless more was
 * submitted meanwhile. */
void activity_try_end(struct shim_queue *queue, uint64_t wptr, uint64_t now_ns);
/* @blocked: the queue's first packet is a barrier that waits for a signal; or it no longer waits. A
 * blocked queue stays active for the hooks, because a doorbell behind the barrier is no progress,
 * and a hook that finds the queue active costs nothing. */
void activity_block(struct shim_queue *queue, bool blocked, uint64_t now_ns);
/* The runtime has stopped the queue by UPDATE_QUEUE, or started it again. A stopped queue is idle
 * even if packets are left in its ring, because a kernel that faulted never finishes. */
void activity_stop(struct shim_queue *queue, bool stopped, uint64_t now_ns);
/* The queue's memory is gone, so its end can no longer be shown: the queue becomes idle. */
void activity_lose(struct shim_queue *queue, uint64_t now_ns);
/* The number of requests in progress, which the program reports by kfdshim.h, has changed. While it
 * is above 0, every node of the process is active. Under the lock. */
void activity_requests(uint64_t now_ns);

/* Sets the initial state, at the start and in a fork child. @active_doorbells is the table of active
 * doorbells in struct kfdshim_preload_iface, @begun the program's count of requests in progress; both
 * must stay valid. */
void activity_init(uint64_t *active_doorbells, const int64_t *begun);

#endif
