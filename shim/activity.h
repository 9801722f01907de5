/* SPDX-License-Identifier: MIT */
/*
 * Is there work? A queue is active from the first sign of work until its end
 * is shown (docs/architecture.md); a node while one of its queues is.
 *
 * Signs of work: a slot that is reserved, a copy, a doorbell about to be rung, a
 * write pointer that moved. Signs of its end, strongest first: a thread came back
 * from a wait on the completion signal of the queue's last packet, and nothing was
 * submitted since; that signal is 0 and the pointers are equal; pointers equal and
 * quiet for 1.5 times its longest kernel.
 *
 * Threads: hooks never wait for the lock. They leave a request in the queue;
 * whoever holds the lock serves it before leaving.
 */
#ifndef KFDSHIM_SHIM_ACTIVITY_H
#define KFDSHIM_SHIM_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/queues.h"

/* The agent's lock. It is held for memory accesses and a write to an eventfd,
 * nothing longer. */
void agent_lock(void);
void agent_unlock(void);

/* Hooks; any thread. See struct kfdshim_agent. */
void activity_doorbell(uint64_t signal);
void activity_copied(void);
uint32_t activity_wait_begin(uint64_t signal);
void activity_wait_end(uint32_t ticket, uint64_t signal, bool over);

/* Under the lock. The table's hooks into activity: a queue that was inserted
 * or is about to be removed. */
void activity_queue_added(struct queue *queue, uint64_t now_ns);
void activity_queue_removed(struct queue *queue, uint64_t now_ns);

/* Under the lock: one look at every queue's pointers. `suspended`: the queues
 * stand because they are suspended, which tells nothing about kernels.
 * Returns after how many ns to look again; UINT64_MAX: every queue is seen by a
 * hook and drained. */
uint64_t activity_sample(uint64_t now_ns, bool suspended);

/* Under the lock: the number of requests that the program says it has begun is
 * another. While it is not 0, every node of the process is active. */
void activity_requests(uint64_t now_ns);

/* `hot`: the host's table; `begun`: requests. Also in the fork child, where it
 * forgets all. */
void activity_init(uint64_t *hot, const int64_t *begun);

#endif
