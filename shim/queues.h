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
#include <stddef.h>
#include <stdint.h>

#include "abi/kfd_abi.h"
#include "channel/lane.h"
#include "shim/rcu.h"

#define QUEUES_MAX 1024u /* KFD's ids are below this; the first LANE_QUEUES are shown */
#define NODE_NONE UINT32_MAX
/* Bytes of CREATE_QUEUE's struct, up to the id. */
#define QUEUE_ARGS_MIN (offsetof(struct kfdabi_create_queue, queue_id) + sizeof(uint32_t))
#define AQL_PACKET 64u /* bytes (HSA 1.2, 2.9) */

struct queue {
	/* constant once in the table, but for a queue that comes back */
	uint32_t context; /* contexts.h */
	uint32_t id, gpu_id, type;
	uint32_t slot;
	uint32_t node; /* index into nodes[], or NODE_NONE: no room left */
	uint64_t ring, ring_bytes;
	const uint64_t *rptr, *wptr;
	uint64_t hsa_queue; /* 0: not made by an HSA runtime, as far as we can tell. Atomic */
	uint64_t cwsr_address;
	uint32_t cwsr_bytes;
	bool kept;     /* a reader may still have it: it is never freed (rcu.h) */
	bool readable; /* its pointer words can be read; no more after queue_lost */
	bool careful;  /* ... but only by memory_read: after a failed DESTROY, of a secondary
	                  context, of DRM */

	/* under the lock */
	uint32_t priority, percent;
	uint32_t percentage; /* the whole word, of which `percent` is the low byte */
	uint32_t told_percentage, told_priority; /* what the driver was told (updates.h) */
	uint32_t cu_bits;			 /* CUs in its mask; 0: it has none */
	uint64_t upper;	  /* an intercept queue's hsa_queue_t before this one; 0: none */
	bool cooperative; /* it has the node's GWS */
	uint64_t update_ring, update_bytes; /* what UPDATE_QUEUE last said */
	uint64_t doorbell;		    /* signal handle that the hooks know it by */
	uint64_t seen_wptr, seen_rptr;	    /* at the last look */
	uint64_t changed_ns;		    /* when either last moved */
	uint64_t since_ns;		    /* when it last became active, or blocked */
	uint64_t idle_ns;		    /* when its end was last judged */
	uint64_t stalled_ns; /* since when it is not empty and rptr stands; 0: is not */
	uint64_t longest_ns; /* longest such time: its longest kernel, as far as looks tell */
	bool stood;	     /* a look found rptr where it was at stalled_ns */
	bool found;	     /* its last end was found by a look, not shown by a thread */
	bool stopped;	     /* by UPDATE_QUEUE of the runtime: the driver has it off the GPU */
	bool blocked;	     /* active, but it stands on somebody else's signal: not counted */

	/* atomic */
	uint64_t upper_doorbell; /* of `upper`; 0: none */
	bool active;
	bool hooked;	 /* a doorbell hook has seen it */
	uint32_t missed; /* a look found work that no hook had announced: until so many starts
			    more are announced, the hooks do not cover it */
	bool ring_moved; /* UPDATE_QUEUE gave it another ring: do not read `ring` */
	uint64_t rung;	 /* request: activate, this doorbell is about to be rung */
	bool moved;	 /* request: look at the write pointer */
	uint64_t done;	 /* request: all up to this write pointer is over */
	/* the write pointer of a shown end before which rptr stood */
	uint64_t refuted;
};

struct node {
	uint32_t gpu_id; /* 0: free */
	uint32_t active; /* active queues on it that are not blocked, + 1 if `requested` */
	bool requested;	 /* the program has a request begun */
	uint64_t since_ns;
	uint32_t on_board; /* where it was found on the daemon's board last */
	uint64_t holds_ns; /* when less urgent work was last held on it; 0: never */
};

struct queues {
	struct queue *table[QUEUES_MAX]; /* RCU */
	uint32_t end;			 /* slots at and above it are empty */
	uint64_t looked_ns;		 /* when the sampler last looked at all */
	uint32_t *uppers;		 /* of the host, as is the next: */
	uint32_t *active;		 /* active queues; atomic */
	struct node nodes[LANE_NODES];
};
extern struct queues queues;

/* A queue as CREATE_QUEUE returned it in that context; `size` bytes of *args are
 * valid. NULL: no memory, or a struct too short to name the queue. Not in the
 * table yet. */
struct queue *queue_new(uint32_t context, const struct kfdabi_create_queue *args, uint32_t size);
void queue_free(struct queue *queue); /* not in the table; no reader left, or `kept` */

/* Under the lock. queue_insert: -ENOSPC. */
int queue_insert(struct queue *queue);
void queue_remove(struct queue *queue);
struct queue *queue_by_id(uint32_t context, uint32_t id);
/* Under the lock. A program's handle: if it is none of the queues', but has the id
 * of one, it stands before that one, and the doorbell of both is heard. */
void queue_join(uint64_t hsa_queue);
void queue_part(uint64_t hsa_queue);
/* Under the lock. A `careful` one's memory is freed: nothing of it is read again, and
 * who has the hsa_queue_t's address from now on is another queue. */
void queue_lost(struct queue *queue);
/* Within rcu_begin(). NULL: not one of ours. */
struct queue *queue_by_hsa(uint64_t hsa_queue);
struct queue *queue_by_upper(uint64_t doorbell);

/* Any thread. */
static inline bool queues_any(void)
{
	return __atomic_load_n(&queues.end, __ATOMIC_ACQUIRE) > 0;
}

static inline bool queue_is_sdma(const struct queue *queue)
{
	return queue->type != KFD_IOC_QUEUE_TYPE_COMPUTE &&
	       queue->type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

/* A hook announces each start of its work. Under the lock, or within rcu_begin(). */
static inline bool queue_is_covered(const struct queue *queue)
{
	return __atomic_load_n(&queue->hooked, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&queue->missed, __ATOMIC_RELAXED) == 0;
}

/* The driver runs no queue of these (kfd_process_queue_manager.c, is_active). */
static inline bool queue_args_stop(uint64_t ring, uint64_t ring_bytes, uint32_t percentage)
{
	return ring == 0 || ring_bytes == 0 || (percentage & 0xff) == 0;
}

/* Reads both pointers; under the lock, or within rcu_begin() for a queue
 * that is not `careful`. false: they cannot be read (any more). */
bool queue_pointers(const struct queue *queue, uint64_t *rptr, uint64_t *wptr);
bool queue_drained(const struct queue *queue, uint64_t rptr, uint64_t wptr);
/* The completion signal of the AQL packet before `wptr`; 0: none, or unknown. */
uint64_t queue_last_signal(const struct queue *queue, uint64_t wptr);

/* Fork child: forget all; nothing is freed. */
void queues_forget(void);

/* Under the lock: the queue as a lane tells of it. */
struct lane_queue queues_entry(const struct queue *queue);

#endif
