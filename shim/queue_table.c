// SPDX-License-Identifier: MIT
#include "shim/queue_table.h"

#include <errno.h>
#include <hsa/amd_hsa_queue.h>
#include <stdlib.h>
#include <string.h>

#include "shim/config.h"
#include "shim/kfd_context.h"
#include "shim/safe_read.h"

/*
 * Offsets in struct amd_queue_s, equal in ROCr 5.2 to 7.2. read_dispatch_id, whose address
 * CREATE_QUEUE gets, is at 128. The hsa_queue_t is at 0, with base_address at 8 and size (in
 * packets) at 24. The runtime fills in base_address and size before it creates the queue.
 */
#define AMD_QUEUE_RPTR 128u
#define HSA_QUEUE_BASE 8u
#define HSA_QUEUE_DOORBELL 16u
#define HSA_QUEUE_SIZE 24u
/* The id of the queue. An intercept queue (queue_join()) has the same id as the driver's queue. */
#define HSA_QUEUE_ID 32u
_Static_assert(offsetof(amd_queue_t, read_dispatch_id) == AMD_QUEUE_RPTR, "read pointer");
_Static_assert(offsetof(amd_queue_t, hsa_queue) == 0, "an amd_queue_t begins with the hsa_queue_t");
_Static_assert(offsetof(hsa_queue_t, base_address) == HSA_QUEUE_BASE, "ring");
_Static_assert(offsetof(hsa_queue_t, doorbell_signal) == HSA_QUEUE_DOORBELL, "doorbell");
_Static_assert(offsetof(hsa_queue_t, size) == HSA_QUEUE_SIZE, "number of packets");
_Static_assert(offsetof(hsa_queue_t, id) == HSA_QUEUE_ID, "id");

struct queues queues;

typedef bool read_fn(void *to, uint64_t address, size_t size);

/* Returns the address of the queue's hsa_queue_t, or 0 if there is none. If an HSA runtime has made
 * the queue, the read pointer is a member of an amd_queue_t, which begins with the hsa_queue_t.
 * That is so if the hsa_queue_t found there describes the same ring. */
static uint64_t find_hsa_queue(const struct shim_queue *queue, read_fn *read)
{
	uint64_t base, hsa = (uint64_t)(uintptr_t)queue->rptr - AMD_QUEUE_RPTR;
	uint32_t packets;

	if (queue->type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL || queue->ring_bytes < AQL_PACKET)
		return 0;
	if (!read(&base, hsa + HSA_QUEUE_BASE, sizeof(base)) ||
	    !read(&packets, hsa + HSA_QUEUE_SIZE, sizeof(packets)))
		return 0;
	if (base != queue->ring || (uint64_t)packets * AQL_PACKET != queue->ring_bytes)
		return 0;
	return hsa;
}

struct shim_queue *shim_queue_new(uint32_t context, const struct kfdabi_create_queue *args,
				  uint32_t size)
{
	struct kfdabi_create_queue a = {0};
	struct shim_queue *q;
	read_fn *read;
	uint64_t word;

	if (size < QUEUE_ARGS_MIN)
		return NULL;
	memcpy(&a, args, size < sizeof(a) ? size : sizeof(a));
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->context = context;
	/* A secondary context is destroyed when its last file descriptor is closed, without a
	 * DESTROY_QUEUE. So the memory of its queues may be freed at any time. */
	q->read_via_kernel = context != CONTEXT_PRIMARY;
	q->id = a.queue_id;
	q->gpu_id = a.gpu_id;
	q->type = a.queue_type;
	q->ring = q->update_ring = a.ring_base_address;
	q->ring_bytes = q->update_bytes = a.ring_size;
	q->rptr = (const uint64_t *)(uintptr_t)a.read_pointer_address;
	q->wptr = (const uint64_t *)(uintptr_t)a.write_pointer_address;
	q->cwsr_address = a.ctx_save_restore_address;
	q->cwsr_bytes = a.ctx_save_restore_size;
	q->priority = q->driver_priority = a.queue_priority;
	q->percentage = q->driver_percentage = a.queue_percentage;
	q->percent = a.queue_percentage & 0xff; /* bits 15:8: target XCC */
	q->stopped = queue_args_stop(q->ring, q->ring_bytes, q->percentage);
	/* Check that the pointers can be read, by the same kind of read that will be used later. */
	read = q->read_via_kernel ? memory_read : memory_read_mapped;
	q->readable = read(&word, a.read_pointer_address, sizeof(word)) &&
		      read(&word, a.write_pointer_address, sizeof(word));
	if (q->readable)
		queue_pointers(q, &q->seen_rptr, &q->seen_wptr);
	q->hsa_queue = find_hsa_queue(q, read);
	return q;
}

struct shim_queue *render_queue_new(uint32_t context, uint32_t gpu_id, uint32_t id,
				    const struct render_userq *args)
{
	struct shim_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->context = context;
	q->id = id;
	q->gpu_id = gpu_id;
	q->type = CLIENT_SHM_TYPE_DRM;
	q->ring = q->update_ring = args->ring;
	q->ring_bytes = q->update_bytes = args->ring_bytes;
	q->rptr = (const uint64_t *)(uintptr_t)args->rptr;
	q->wptr = (const uint64_t *)(uintptr_t)args->wptr;
	q->percent = 100;
	q->read_via_kernel = true;
	return q;
}

/* Marks a queue that is never freed, so that LeakSanitizer does not report it. A queue is never
 * freed if a thread destroys it while the process exits and liburcu has ended already. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define KEEP(queue) __lsan_ignore_object(queue)
#else
#define KEEP(queue) ((void)0)
#endif

void shim_queue_free(struct shim_queue *queue)
{
	if (!queue->in_use)
		free(queue);
	else
		KEEP(queue);
}

static void report_overflow(uint32_t gpu_id)
{
	static bool reported;

	if (!reported)
		kfdshim_log(
			LOG_ERROR,
			"this process uses more than %u GPUs: of the others, %u among them, the queues "
			"are observed, but not their work",
			CLIENT_SHM_NODES, gpu_id);
	reported = true;
}

/* Returns the index of a GPU in queues.nodes[]; appends a new GPU. Returns NODE_NONE if nodes[] is
 * full. */
static uint32_t node_of(uint32_t gpu_id)
{
	for (uint32_t i = 0; i < CLIENT_SHM_NODES; i++) {
		if (queues.nodes[i].gpu_id == 0)
			queues.nodes[i].gpu_id = gpu_id;
		if (queues.nodes[i].gpu_id == gpu_id)
			return i;
	}
	report_overflow(gpu_id);
	return NODE_NONE;
}

int queue_insert(struct shim_queue *queue)
{
	uint32_t slot = 0;

	while (slot < QUEUES_MAX && queues.table[slot])
		slot++;
	if (slot == QUEUES_MAX)
		return -ENOSPC;
	queue->slot = slot;
	queue->node = node_of(queue->gpu_id);
	__atomic_store_n(&queues.table[slot], queue, __ATOMIC_RELEASE);
	if (slot >= queues.end)
		__atomic_store_n(&queues.end, slot + 1, __ATOMIC_RELEASE);
	return 0;
}

void queue_part(struct shim_queue *queue)
{
	if (!queue->intercept_queue)
		return;
	queue->intercept_queue = 0;
	__atomic_store_n(&queue->intercept_doorbell, 0, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(queues.n_intercept_queues, 1, __ATOMIC_SEQ_CST);
}

void queue_join(uint64_t hsa_queue)
{
	uint64_t id, doorbell, other;
	struct shim_queue *q, *lower = NULL;

	if (!memory_read_mapped(&id, hsa_queue + HSA_QUEUE_ID, sizeof(id)) ||
	    !memory_read_mapped(&doorbell, hsa_queue + HSA_QUEUE_DOORBELL, sizeof(doorbell)))
		return;
	for (uint32_t i = 0; i < queues.end; i++) {
		q = queues.table[i];
		if (!q || !q->hsa_queue)
			continue;
		if (q->hsa_queue == hsa_queue)
			return;
		if (!q->intercept_queue &&
		    memory_read(&other, q->hsa_queue + HSA_QUEUE_ID, sizeof(other)) && other == id)
			lower = q;
	}
	if (!lower || !doorbell)
		return;
	lower->intercept_queue = hsa_queue;
	__atomic_store_n(&lower->intercept_doorbell, doorbell, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(queues.n_intercept_queues, 1, __ATOMIC_SEQ_CST);
}

void queue_lost(struct shim_queue *queue)
{
	queue_part(queue);
	queue->readable = false;
	__atomic_store_n(&queue->hsa_queue, 0, __ATOMIC_RELAXED);
}

struct shim_queue *queue_by_intercept(uint64_t doorbell)
{
	uint32_t end = __atomic_load_n(&queues.end, __ATOMIC_ACQUIRE);
	struct shim_queue *q;

	for (uint32_t i = 0; i < end; i++) {
		q = __atomic_load_n(&queues.table[i], __ATOMIC_ACQUIRE);
		if (q && __atomic_load_n(&q->intercept_doorbell, __ATOMIC_RELAXED) == doorbell)
			return q;
	}
	return NULL;
}

void queue_remove(struct shim_queue *queue)
{
	uint32_t end = queues.end;

	queue_part(queue);
	__atomic_store_n(&queues.table[queue->slot], NULL, __ATOMIC_RELEASE);
	while (end > 0 && !queues.table[end - 1])
		end--;
	__atomic_store_n(&queues.end, end, __ATOMIC_RELEASE);
}

struct shim_queue *shim_queue_by_id(uint32_t context, uint32_t id)
{
	struct shim_queue *q;

	for (uint32_t i = 0; i < queues.end; i++) {
		q = queues.table[i];
		if (q && q->id == id && q->context == context)
			return q;
	}
	return NULL;
}

struct shim_queue *queue_by_hsa(uint64_t hsa_queue)
{
	uint32_t end = __atomic_load_n(&queues.end, __ATOMIC_ACQUIRE);
	struct shim_queue *q;

	for (uint32_t i = 0; hsa_queue && i < end; i++) {
		q = __atomic_load_n(&queues.table[i], __ATOMIC_ACQUIRE);
		if (q && __atomic_load_n(&q->hsa_queue, __ATOMIC_RELAXED) == hsa_queue)
			return q;
	}
	return NULL;
}

/* Reads the pointers of a queue by system call, because its memory may have been freed, for example
 * after a failed DESTROY_QUEUE. Returns false if they cannot be read, or if the hsa_queue_t no
 * longer describes this ring. */
static bool pointers_via_kernel(const struct shim_queue *queue, uint64_t *rptr, uint64_t *wptr)
{
	if (queue->hsa_queue && find_hsa_queue(queue, memory_read) != queue->hsa_queue)
		return false;
	return memory_read(rptr, (uint64_t)(uintptr_t)queue->rptr, sizeof(*rptr)) &&
	       memory_read(wptr, (uint64_t)(uintptr_t)queue->wptr, sizeof(*wptr));
}

bool queue_pointers(const struct shim_queue *queue, uint64_t *rptr, uint64_t *wptr)
{
	if (!queue->readable)
		return false;
	if (queue->read_via_kernel)
		return pointers_via_kernel(queue, rptr, wptr);
	*rptr = __atomic_load_n(queue->rptr, __ATOMIC_ACQUIRE);
	*wptr = __atomic_load_n(queue->wptr, __ATOMIC_ACQUIRE);
	return true;
}

bool queue_drained(const struct shim_queue *queue, uint64_t rptr, uint64_t wptr)
{
	/* PM4: the read pointer is an offset into the ring, in dwords. */
	if (queue->type == KFD_IOC_QUEUE_TYPE_COMPUTE && queue->ring_bytes >= sizeof(uint32_t))
		return (((uint32_t)wptr - (uint32_t)rptr) &
			((uint32_t)(queue->ring_bytes / sizeof(uint32_t)) - 1)) == 0;
	return rptr == wptr;
}

void queues_forget(void)
{
	uint32_t *n_intercept_queues = queues.n_intercept_queues, *active = queues.active;

	memset(&queues, 0, sizeof(queues));
	queues.n_intercept_queues = n_intercept_queues;
	queues.active = active;
	__atomic_store_n(n_intercept_queues, 0, __ATOMIC_RELAXED);
	__atomic_store_n(active, 0, __ATOMIC_RELAXED);
}

struct client_shm_queue queues_entry(const struct shim_queue *q)
{
	return (struct client_shm_queue){
		.used = 1,
		.context = q->context,
		.queue_id = q->id,
		.gpu_id = q->gpu_id,
		.type = q->type,
		.priority = q->priority,
		.percent = q->percent,
		.cu_bits = q->cu_bits,
		.hooked = queue_is_covered(q),
		.cooperative = q->cooperative,
		.ring_address = q->update_ring,
		.ring_bytes = q->update_bytes,
		.rptr_address = (uint64_t)(uintptr_t)q->rptr,
		.wptr_address = (uint64_t)(uintptr_t)q->wptr,
		.hsa_queue = q->intercept_queue ? q->intercept_queue : q->hsa_queue,
		.cwsr_address = q->cwsr_address,
		.cwsr_bytes = q->cwsr_bytes,
		.state = q->blocked  ? CLIENT_SHM_QUEUE_BLOCKED
			 : q->active ? CLIENT_SHM_QUEUE_ACTIVE
				     : CLIENT_SHM_QUEUE_IDLE,
	};
}
