/* SPDX-License-Identifier: MIT */
/*
 * Table of the queues of this process, filled from the KFD ioctls. The table is the agent's own
 * record; the shared memory of the client (`struct client_shm`) and the file that peers read are
 * copies of it.
 *
 * A queue is in the table from the return of CREATE_QUEUE until just before DESTROY_QUEUE is
 * forwarded to the driver. While a queue is in the table its pointer words and its ring may be
 * read; the runtime frees both after DESTROY_QUEUE.
 *
 * Threads: the table changes under the agent's lock (activity.h). A thread that holds the lock may
 * use any queue. A thread without the lock may use a queue only between readers_begin() and
 * readers_end().
 *
 * Ownership: shim_queue_new() allocates a queue, shim_queue_free() frees it. A queue in the table
 * belongs to the table; queue_remove() gives it back to the caller.
 */
#ifndef KFDSHIM_SHIM_QUEUE_TABLE_H
#define KFDSHIM_SHIM_QUEUE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "channel/client_shm.h"
#include "kfd/uapi.h"
#include "shim/readers.h"

/* KFD's queue ids are below this. Only the first CLIENT_SHM_QUEUES slots are published. */
#define QUEUES_MAX 1024u
#define NODE_NONE UINT32_MAX
/* Smallest CREATE_QUEUE struct that is usable, in bytes: it ends with the queue's id. */
#define QUEUE_ARGS_MIN (offsetof(struct kfdabi_create_queue, queue_id) + sizeof(uint32_t))
#define AQL_PACKET 64u /* bytes (HSA 1.2, 2.9) */

struct shim_queue {
	/* The fields up to `read_via_kernel` are constant while the queue is in the table. `slot`,
	 * `node` and `read_via_kernel` can change when a queue is inserted again because its
	 * DESTROY_QUEUE failed. */
	uint32_t context; /* number of the KFD context (kfd_context.h) */
	uint32_t id, gpu_id, type;
	uint32_t slot;
	uint32_t node; /* index into queues.nodes[]; NODE_NONE: nodes[] was full */
	uint64_t ring, ring_bytes;
	const uint64_t *rptr, *wptr;
	/* Address of the queue's hsa_queue_t; 0: no HSA runtime seems to have made the queue.
	 * Atomic. */
	uint64_t hsa_queue;
	uint64_t cwsr_address;
	uint32_t cwsr_bytes;
	bool in_use;   /* a reader may still use it, so it is never freed (readers.h) */
	bool readable; /* the pointers can be read; cleared by queue_lost() */
	/* The pointers and the ring may be freed or unmapped at any time, so only memory_read() may
	 * read them. Set after a failed DESTROY_QUEUE, for queues of secondary KFD contexts and for
	 * DRM user queues. */
	bool read_via_kernel;

	/* All fields from here on are protected by the agent's lock. */
	/* The values that the runtime passed to CREATE_QUEUE or to its last UPDATE_QUEUE. */
	uint32_t priority, percent;
	uint32_t percentage; /* queue_percentage, the whole word; `percent` is its low byte */
	/* Values that the driver received last. They differ from the runtime's values while the
	 * process is held by UPDATE_QUEUE (queue_override.h). */
	uint32_t driver_percentage, driver_priority;
	uint32_t cu_bits; /* number of CUs in the CU mask; 0: no mask */
	/* hsa_queue_t of a profiler's intercept queue in front of it; 0: none */
	uint64_t intercept_queue;
	bool cooperative; /* the queue has the node's GWS (ALLOC_QUEUE_GWS) */
	/* Address and size in bytes of the ring, as the last UPDATE_QUEUE has set them, or
	 * CREATE_QUEUE if there was no UPDATE_QUEUE. */
	uint64_t update_ring, update_bytes;
	uint64_t doorbell; /* handle of the doorbell signal that the hooks saw; 0: none */
	uint64_t seen_wptr, seen_rptr; /* pointers at the last poll or event */
	/* Time of the last doorbell, or of the last change of a pointer. This time and the
	 * following ones are CLOCK_MONOTONIC ns. */
	uint64_t changed_ns;
	uint64_t since_ns; /* last time that the queue became active, or that `blocked` changed */
	uint64_t idle_ns;  /* last time that the queue was found idle */
	/* Time since which the ring is not empty and the read pointer has not moved; 0: the queue
	 * is not stalled. */
	uint64_t stalled_ns;
	/* Estimate of the queue's longest kernel: the longest stall (see stalled_ns) that polls
	 * have measured, at most 100 ms. Each end of work reduces it by a sixteenth. */
	uint64_t longest_ns;
	bool stood; /* a poll found that rptr has not moved since stalled_ns */
	/* The last end of work was found by a poll, and not reported by a thread of the program
	 * (ends.h). */
	bool found;
	/* The runtime has stopped the queue by UPDATE_QUEUE, so the driver has it off the GPU. */
	bool stopped;
	/* Active, but its first packet is a barrier that waits for a signal. The queue is not
	 * counted in node.active. */
	bool blocked;

	/* All fields from here on are atomic; hooks access them without the agent's lock. */
	uint64_t intercept_doorbell; /* doorbell signal of `intercept_queue`; 0: none */
	bool active;
	bool hooked; /* a hook has seen its doorbell */
	/* Not 0: the hooks do not see all work of the queue, so it is polled as a queue without
	 * hooks. Set when a poll finds work that no hook has announced; each start of work that a
	 * hook announces reduces it by 1. */
	uint32_t missed;
	/* UPDATE_QUEUE changed the ring, so `ring` must not be read. */
	bool ring_moved;
	uint64_t rung; /* request of a hook: this doorbell is about to be rung; 0: no request */
	bool moved;    /* request of a hook: check the write pointer */
	uint64_t done; /* request of a hook: all work before this write pointer is over */
	/* Write pointer up to which a thread reported all work as over although work was left: a
	 * poll then found that the read pointer stays before it. */
	uint64_t refuted;
};

/* DRM user queues (Linux 6.16). KFD has no record of them, so they cannot be suspended; they are
 * listed only. Arguments of AMDGPU_USERQ on a render node (include/uapi/drm/amdgpu_drm.h):
 * RENDER_CREATE returns one word, the queue's id, in the place of `op`. */
#define RENDER_CREATE 1u
#define RENDER_FREE 2u
struct render_userq {
	uint32_t op, queue_id, ip_type;
	uint32_t doorbell_handle, doorbell_offset, flags;
	uint64_t ring, ring_bytes, rptr, wptr; /* GPU addresses; ring_bytes in bytes */
};

struct shim_node {
	uint32_t gpu_id; /* 0: free entry */
	/* Active queues on the node that are not blocked, plus 1 if `requested`. */
	uint32_t active;
	bool requested; /* a request of the program is in progress (kfdshim.h) */
	/* CLOCK_MONOTONIC ns of the last change between idle and active. */
	uint64_t since_ns;
	/* Index of the node in the daemon's shared memory at the last check, as a hint. */
	uint32_t on_daemon_shm;
	/* Last time that the daemon kept less urgent processes suspended on the node,
	 * CLOCK_MONOTONIC ns; 0: never. */
	uint64_t holds_ns;
};

struct queues {
	struct shim_queue
		*table[QUEUES_MAX]; /* written under the agent's lock, read after readers_begin() */
	uint32_t end;		    /* all slots from this index on are empty */
	uint64_t polled_ns;	    /* last poll of all queues, CLOCK_MONOTONIC ns */
	/* Both point into struct kfdshim_preload_iface (channel/agent_abi.h): the number of queues
	 * with an intercept queue, and the number of active queues. Atomic. */
	uint32_t *n_intercept_queues;
	uint32_t *active;
	struct shim_node nodes[CLIENT_SHM_NODES];
};
extern struct queues queues;

/* Allocates a queue from the arguments of a successful CREATE_QUEUE. @context is its KFD context,
 * @size the number of valid bytes in *args. The queue is not in the table yet; the caller owns it.
 * Returns NULL if there is no memory, or if @size is below QUEUE_ARGS_MIN. Any thread. */
struct shim_queue *shim_queue_new(uint32_t context, const struct kfdabi_create_queue *args,
				  uint32_t size);
/* Creates a queue for a DRM user queue, as shim_queue_new() does for a KFD queue. Its pointers are
 * GPU addresses and cannot be read here. Returns NULL if memory is short. */
struct shim_queue *render_queue_new(uint32_t context, uint32_t gpu_id, uint32_t id,
				    const struct render_userq *args);
/* Frees a queue that is not in the table. If `in_use` is set, does not free the memory, because a
 * reader may still use it. */
void shim_queue_free(struct shim_queue *queue);

/* Puts the queue into a free slot and makes readers see it. Sets `slot` and `node`. Under the
 * agent's lock. Returns 0, or -ENOSPC if all QUEUES_MAX slots are used. */
int queue_insert(struct shim_queue *queue);
/* Takes the queue out of the table. The caller must call readers_wait() before it frees the queue,
 * because readers may still use it. Under the agent's lock. */
void queue_remove(struct shim_queue *queue);
/* Returns the queue with this context and KFD id, or NULL. Under the agent's lock. */
struct shim_queue *shim_queue_by_id(uint32_t context, uint32_t id);
/* Registers the handle that hsa_queue_create() gave to the program. If the handle is not the
 * hsa_queue_t of a known queue but has the id of a known queue, it is that of an intercept queue
 * (put before the known queue by a profiler). From then on the doorbells of both are signs of work
 * of the known queue. Under the agent's lock. */
void queue_join(uint64_t hsa_queue);
/* Forgets the intercept queue of a queue, which queue_join() has registered; does nothing if there
 * is none. Under the agent's lock. */
void queue_part(struct shim_queue *queue);
/* Marks a `read_via_kernel` queue whose memory was freed. The queue stays in the table, but nothing
 * of its memory is read again, and its hsa_queue_t address is removed, because a new queue may use
 * it from now on. Under the agent's lock. */
void queue_lost(struct shim_queue *queue);
/* Returns the queue with this hsa_queue_t, or NULL. Within readers_begin(). */
struct shim_queue *queue_by_hsa(uint64_t hsa_queue);
/* Returns the queue whose intercept queue has this doorbell signal, or NULL. Within
 * readers_begin(). */
struct shim_queue *queue_by_intercept(uint64_t doorbell);

/* Returns true if the table has a queue. Any thread. */
static inline bool queues_any(void)
{
	return __atomic_load_n(&queues.end, __ATOMIC_ACQUIRE) > 0;
}

/* Returns true if the queue is not a compute queue: an SDMA or a DRM user queue. */
static inline bool queue_is_sdma(const struct shim_queue *queue)
{
	return queue->type != KFD_IOC_QUEUE_TYPE_COMPUTE &&
	       queue->type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
}

/* Returns true if a hook announces each start of work on this queue. Under the agent's lock, or
 * within readers_begin(). */
static inline bool queue_is_covered(const struct shim_queue *queue)
{
	return __atomic_load_n(&queue->hooked, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&queue->missed, __ATOMIC_RELAXED) == 0;
}

/* Returns true if the driver does not run a queue that has these values (is_active in
 * kfd_process_queue_manager.c). */
static inline bool queue_args_stop(uint64_t ring, uint64_t ring_bytes, uint32_t percentage)
{
	return ring == 0 || ring_bytes == 0 || (percentage & 0xff) == 0;
}

/* Reads both pointers of the queue. Under the agent's lock, or within readers_begin() if the queue
 * is not `read_via_kernel`. Returns false if they cannot be read. */
bool queue_pointers(const struct shim_queue *queue, uint64_t *rptr, uint64_t *wptr);
/* Returns true if these pointers mean that the ring is empty. For PM4 queues the read pointer is an
 * offset into the ring in dwords; for the other types it counts like the write pointer, without a
 * wrap at the end of the ring. */
bool queue_drained(const struct shim_queue *queue, uint64_t rptr, uint64_t wptr);

/* Empties the table in a fork child, without freeing anything. */
void queues_forget(void);

/* Converts the queue to the form that it has in the client's shared memory. Under the agent's
 * lock. */
struct client_shm_queue queues_entry(const struct shim_queue *queue);

#endif
