/* SPDX-License-Identifier: MIT */
/*
 * Is there work? A queue is active from the first sign of work until its end
 * is shown (docs/architecture.md); a node while one of its queues is.
 *
 * Signs of work: a slot that is reserved, a copy, a doorbell about to be rung, a
 * write pointer that moved. Signs of its end, strongest first: a thread of the
 * program has seen an end (ends.h), and nothing was submitted since; the signal of
 * the queue's last packet is 0 and the pointers are equal; pointers equal and quiet
 * for 1.5 times its longest kernel.
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
/* A copy was asked for: queues whose write pointer has moved are active. */
void activity_copied(void);
/* Any thread: a request was left in a queue (rung, moved, done). */
void activity_request(void);

/* Under the lock. The table's hooks into activity: a queue that was inserted
 * or is about to be removed. */
void activity_queue_added(struct queue *queue, uint64_t now_ns);
void activity_queue_removed(struct queue *queue, uint64_t now_ns);

/* Under the lock. queue_part(), and the handle's doorbell is hot no more. */
void activity_part(uint64_t hsa_queue);

/* Under the lock: what a look at the pointers finds (look.h). There is work. */
void activity_begin(struct queue *queue, uint64_t now_ns);
/* The write pointer has moved since it was last seen. */
void activity_submitted(struct queue *queue, uint64_t rptr, uint64_t wptr, uint64_t now_ns);
/* Of an active one: all before `wptr` is over. Idle, unless more was submitted. */
void activity_try_end(struct queue *queue, uint64_t wptr, uint64_t now_ns);
/* It stands on somebody else's signal, or does no more. A blocked queue stays active for
 * the hooks: a doorbell behind the barrier is no progress, and costs nothing. */
void activity_block(struct queue *queue, bool blocked, uint64_t now_ns);
/* The runtime has stopped it, or started it again. Stopped it is idle, also with packets left in it: a kernel
 * that faulted is never finished. */
void activity_stop(struct queue *queue, bool stopped, uint64_t now_ns);
/* Its memory is gone: nothing can ever show its end. */
void activity_lose(struct queue *queue, uint64_t now_ns);
/* Under the lock: the number of requests that the program says it has begun is
 * another. While it is not 0, every node of the process is active. */
void activity_requests(uint64_t now_ns);

/* `hot`: the host's table; `begun`: requests. Also in the fork child, where it
 * forgets all. */
void activity_init(uint64_t *hot, const int64_t *begun);

#endif
