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
 * Reports changes to other modules by the functions in struct activity_events.
 *
 * Threads: a hook never waits for the agent's lock. It leaves a request in the queue (`rung`,
 * `moved`, `done`), and a thread that holds the lock serves all requests before it releases the
 * lock.
 */
#ifndef KFDSHIM_SHIM_ACTIVITY_H
#define KFDSHIM_SHIM_ACTIVITY_H

#include "shim/queue_table.h"

/* The agent's lock. It is held only for memory accesses and a write to an eventfd, never for
 * anything longer. agent_unlock() first carries out the requests that hooks have stored in
 * queues. */
void agent_lock(void);
void agent_unlock(void);

/* Hook of struct kfdshim_agent: makes the queue of the doorbell signal @signal active. Called when
 * @signal is not in the table of active doorbells. Any thread; keeps errno. */
void activity_doorbell(uint64_t signal);
/* Carries out the requests that hooks have stored in queues, or leaves that to the thread that
 * holds the lock. Never waits. Any thread. */
void activity_request(void);

/* ---- entries of the table; called without the agent's lock ---- */

/* Adds the queue to the table and reports it. If the table is full, logs that and frees the queue,
 * so that its work is not seen. Removes an older entry with the same context and id first: that
 * queue was destroyed by a call that no hook saw. Takes ownership of @queue. */
void entry_add_new(struct shim_queue *queue);
/* Removes the queue from the table before DESTROY_QUEUE is forwarded, and waits for readers: after
 * the return the agent reads nothing of its memory, so the runtime may free it.
 * Returns the queue, which belongs to the caller, or NULL if the table has none. The caller then
 * calls shim_queue_free(), or entry_put_back() if the call failed. */
struct shim_queue *entry_take(uint32_t context, uint32_t id);
/* Adds a queue of entry_take() to the table again, because its DESTROY_QUEUE failed with the
 * positive errno @err. Takes ownership of @queue. */
void entry_put_back(struct shim_queue *queue, int err);
/* Removes and frees all queues of a KFD context that has ended, except the active ones.
 * Returns true if queues of the context are left. */
bool entries_drop_context(uint32_t context);

/* ---- called with the agent's lock held ---- */

/* A part of entry_add_new(), for tests: reports a queue that was inserted into the table, and makes
 * it active if its ring is not empty. */
void activity_queue_added(struct shim_queue *queue, uint64_t now_ns);
/* Reverts queue_join() for @hsa_queue, the handle of an intercept queue that is about to be
 * destroyed. Removes the doorbell of that queue from the table of active doorbells. */
void activity_part(uint64_t hsa_queue);

/* Makes a queue active because a poll (sampler.h) has found work in it. Does nothing to a stopped
 * queue. */
void activity_begin(struct shim_queue *queue, uint64_t now_ns);
/* Makes a queue active because a poll found that its write pointer has moved. An SDMA queue that
 * has drained already is reported as active and idle at once. */
void activity_submitted(struct shim_queue *queue, uint64_t rptr, uint64_t wptr, uint64_t now_ns);
/* Makes an active queue idle after the caller has found that everything before @wptr is over. If
 * more was submitted meanwhile, the queue stays active. */
void activity_try_end(struct shim_queue *queue, uint64_t wptr, uint64_t now_ns);
/* Sets whether the queue is blocked: its first packet is a barrier that waits for a signal. A
 * blocked queue stays active for the hooks, because a doorbell behind the barrier is no progress,
 * and a hook that finds the queue active costs nothing. */
void activity_block(struct shim_queue *queue, bool blocked, uint64_t now_ns);
/* Records that the runtime has stopped the queue by UPDATE_QUEUE, or started it again. A stopped
 * queue is idle even with packets in its ring, because a kernel that faulted never finishes. */
void activity_stop(struct shim_queue *queue, bool stopped, uint64_t now_ns);
/* Makes a queue idle whose memory is gone, because the end of its work can no longer be found. */
void activity_lose(struct shim_queue *queue, uint64_t now_ns);
/* Applies a change of the number of requests in progress, which the program reports by kfdshim.h.
 * While it is above 0, every node of the process is active. */
void activity_requests(uint64_t now_ns);

/* Functions by which activity.c reports changes to other modules, called with the agent's lock
 * held. */
struct activity_events {
	/* The node with this index in queues.nodes[] became active or idle, or is new. */
	void (*node)(uint32_t node, bool active, uint64_t now_ns);
	/* The queue is new, or has changed. */
	void (*queue)(const struct shim_queue *queue);
	/* The queue leaves the table. */
	void (*queue_gone)(const struct shim_queue *queue);
	/* Something happened to the queue; client_shm.h documents @value for each kind. */
	void (*event)(enum client_shm_event_kind kind, const struct shim_queue *queue,
		      uint64_t value);
};

/* Sets the initial state, at the start and in a fork child. @active_doorbells is the table of
 * active doorbells in struct kfdshim_preload_iface, @begun the program's count of requests in
 * progress; all must stay valid. */
void activity_init(const struct activity_events *events, uint64_t *active_doorbells,
		   const int64_t *begun);

#endif
