/* SPDX-License-Identifier: MIT */
/*
 * The queues of this process, as the KFD ioctls tell them: the agent's truth,
 * of which the lane is a copy.
 *
 * A queue is in the table from the return of CREATE_QUEUE to the moment before
 * DESTROY_QUEUE goes to the driver. While it is there its pointer words and
 * its ring may be read; the runtime frees them after DESTROY_QUEUE.
 *
 * Threads: the table changes under the agent's lock (activity.h). Who holds
 * the lock may use any queue; who does not, only within rcu_begin().
 */
#ifndef KFDSHIM_SHIM_QUEUES_H
#define KFDSHIM_SHIM_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/kfd_abi.h"
#include "channel/lane.h"
#include "shim/rcu.h"

#define QUEUES_MAX 1024u /* KFD's ids are below this; the first LANE_QUEUES are shown */
#define NODE_NONE UINT32_MAX

struct queue {
	/* constant once in the table, but for a queue that comes back */
	uint32_t id, gpu_id, type;
	uint32_t slot;
	uint32_t node; /* index into nodes[], or NODE_NONE: no room left */
	uint64_t ring, ring_bytes;
	const uint64_t *rptr, *wptr;
	uint64_t hsa_queue; /* 0: not made by an HSA runtime, as far as we can tell */
	uint64_t cwsr_address;
	uint32_t cwsr_bytes;
	bool readable; /* its pointer words can be read */
	bool careful;  /* ... but only by memory_read: it came back from a failed DESTROY */
	struct cds_lfht_node by_hsa;

	/* under the lock */
	uint32_t priority, percent;
	uint64_t update_ring, update_bytes; /* what UPDATE_QUEUE last said */
	uint64_t doorbell;		    /* signal handle that the hooks know it by */
	uint64_t seen_wptr, seen_rptr;	    /* at the last look */
	uint64_t changed_ns;		    /* when either last moved */
	uint64_t stalled_ns; /* since when it is not empty and rptr stands; 0: is not */
	uint64_t longest_ns; /* longest such time: at least its longest kernel */

	/* atomic */
	bool active;
	bool hooked;	 /* a doorbell hook has seen it */
	bool ring_moved; /* UPDATE_QUEUE gave it another ring: do not read `ring` */
	uint64_t rung;	 /* request: activate, this doorbell is about to be rung */
	uint64_t done;	 /* request: all up to this write pointer is over */
};

struct node {
	uint32_t gpu_id; /* 0: free */
	uint32_t active; /* active queues on it */
	uint64_t since_ns;
};

struct queues {
	struct queue *table[QUEUES_MAX]; /* RCU */
	uint32_t end;			 /* slots at and above it are empty */
	uint32_t active;		 /* active queues */
	struct cds_lfht *by_hsa;
	struct node nodes[LANE_NODES];
};
extern struct queues queues;

/* A queue as CREATE_QUEUE returned it; `size` bytes of *args are valid. NULL:
 * no memory, or a struct too short to name the queue. Not in the table yet. */
struct queue *queue_new(const struct kfdabi_create_queue *args, uint32_t size);
void queue_free(struct queue *queue); /* not in the table; no reader left */

/* Under the lock. queue_insert: -ENOSPC, -ENOMEM. */
int queue_insert(struct queue *queue);
void queue_remove(struct queue *queue);
struct queue *queue_by_id(uint32_t id);
/* Within rcu_begin(). NULL: not one of ours. */
struct queue *queue_by_hsa(uint64_t hsa_queue);

static inline bool queue_is_sdma(const struct queue *queue)
{
	return queue->type != KFD_IOC_QUEUE_TYPE_COMPUTE &&
	       queue->type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

/* Reads both pointers; under the lock, or within rcu_begin() for a queue
 * that is not `careful`. false: they cannot be read (any more). */
bool queue_pointers(const struct queue *queue, uint64_t *rptr, uint64_t *wptr);
bool queue_drained(const struct queue *queue, uint64_t rptr, uint64_t wptr);
/* The completion signal of the AQL packet before `wptr`; 0: none, or unknown. */
uint64_t queue_last_signal(const struct queue *queue, uint64_t wptr);

/* Fork child: forget all; nothing is freed. */
void queues_forget(void);

#endif
