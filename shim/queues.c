// SPDX-License-Identifier: MIT
#include "shim/queues.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shim/memory.h"

/*
 * struct amd_queue_s, equal in ROCr 5.2 to 7.2: read_dispatch_id, whose address
 * CREATE_QUEUE gets, at 128; the hsa_queue_t at 0, with base_address at 8 and
 * size (in packets) at 24. The runtime fills those before it creates the queue.
 */
#define AMD_QUEUE_RPTR 128u
#define HSA_QUEUE_BASE 8u
#define HSA_QUEUE_SIZE 24u
#define AQL_PACKET 64u
#define AQL_COMPLETION 56u /* completion_signal, in every packet the standard names */

#define HASH_BUCKETS 64u /* fixed: a table that grows wants a thread of its own */

struct queues queues;
char queues_grace;

static uint64_t find_hsa_queue(const struct queue *queue)
{
	uint64_t base, hsa = (uint64_t)(uintptr_t)queue->rptr - AMD_QUEUE_RPTR;
	uint32_t packets;

	if (queue->type != KFD_IOC_QUEUE_TYPE_COMPUTE_AQL || queue->ring_bytes < AQL_PACKET)
		return 0;
	if (!memory_read(&base, hsa + HSA_QUEUE_BASE, sizeof(base)) ||
	    !memory_read(&packets, hsa + HSA_QUEUE_SIZE, sizeof(packets)))
		return 0;
	if (base != queue->ring || (uint64_t)packets * AQL_PACKET != queue->ring_bytes)
		return 0;
	return hsa;
}

struct queue *queue_new(const struct kfdabi_create_queue *args, uint32_t size)
{
	struct kfdabi_create_queue a = {0};
	struct queue *q;
	uint64_t word;

	if (size < offsetof(struct kfdabi_create_queue, queue_id) + sizeof(a.queue_id))
		return NULL;
	memcpy(&a, args, size < sizeof(a) ? size : sizeof(a));
	q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->id = a.queue_id;
	q->gpu_id = a.gpu_id;
	q->type = a.queue_type;
	q->ring = q->update_ring = a.ring_base_address;
	q->ring_bytes = q->update_bytes = a.ring_size;
	q->rptr = (const uint64_t *)(uintptr_t)a.read_pointer_address;
	q->wptr = (const uint64_t *)(uintptr_t)a.write_pointer_address;
	q->cwsr_address = a.ctx_save_restore_address;
	q->cwsr_bytes = a.ctx_save_restore_size;
	q->priority = a.queue_priority;
	q->percent = a.queue_percentage & 0xff; /* bits 15:8 are the target XCC */
	q->readable = memory_read(&word, a.read_pointer_address, sizeof(word)) &&
		      memory_read(&word, a.write_pointer_address, sizeof(word));
	if (q->readable)
		queue_pointers(q, &q->seen_rptr, &q->seen_wptr);
	q->hsa_queue = find_hsa_queue(q);
	cds_lfht_node_init(&q->by_hsa);
	return q;
}

void queue_free(struct queue *queue)
{
	free(queue);
}

static uint32_t node_of(uint32_t gpu_id)
{
	for (uint32_t i = 0; i < LANE_NODES; i++) {
		if (queues.nodes[i].gpu_id == 0)
			queues.nodes[i].gpu_id = gpu_id;
		if (queues.nodes[i].gpu_id == gpu_id)
			return i;
	}
	return NODE_NONE;
}

static unsigned long hash_of(uint64_t hsa_queue)
{
	/* Queues are allocated in pages: the low bits are all alike. */
	return (unsigned long)((hsa_queue * 0x9e3779b97f4a7c15ull) >> 32);
}

int queue_insert(struct queue *queue)
{
	struct cds_lfht *table;
	uint32_t slot = 0;

	if (queue->hsa_queue && !queues.by_hsa) {
		table = cds_lfht_new(HASH_BUCKETS, HASH_BUCKETS, HASH_BUCKETS, 0, NULL);
		if (!table)
			return -ENOMEM;
		__atomic_store_n(&queues.by_hsa, table, __ATOMIC_RELEASE);
	}
	while (slot < QUEUES_MAX && queues.table[slot])
		slot++;
	if (slot == QUEUES_MAX)
		return -ENOSPC;
	queue->slot = slot;
	queue->node = node_of(queue->gpu_id);
	__atomic_store_n(&queues.table[slot], queue, __ATOMIC_RELEASE);
	if (slot >= queues.end)
		__atomic_store_n(&queues.end, slot + 1, __ATOMIC_RELEASE);
	if (queue->hsa_queue) {
		cds_lfht_node_init(&queue->by_hsa);
		rcu_told_before(queue);
		rcu_begin();
		cds_lfht_add(queues.by_hsa, hash_of(queue->hsa_queue), &queue->by_hsa);
		rcu_end();
	}
	return 0;
}

void queue_remove(struct queue *queue)
{
	uint32_t end = queues.end;

	if (queue->hsa_queue) {
		rcu_begin();
		cds_lfht_del(queues.by_hsa, &queue->by_hsa);
		rcu_end();
	}
	__atomic_store_n(&queues.table[queue->slot], NULL, __ATOMIC_RELEASE);
	while (end > 0 && !queues.table[end - 1])
		end--;
	__atomic_store_n(&queues.end, end, __ATOMIC_RELEASE);
}

struct queue *queue_by_id(uint32_t id)
{
	for (uint32_t i = 0; i < queues.end; i++)
		if (queues.table[i] && queues.table[i]->id == id)
			return queues.table[i];
	return NULL;
}

static int match_hsa(struct cds_lfht_node *node, const void *key)
{
	const struct queue *queue = caa_container_of(node, struct queue, by_hsa);

	rcu_told_after(queue);
	return queue->hsa_queue == *(const uint64_t *)key;
}

struct queue *queue_by_hsa(uint64_t hsa_queue)
{
	struct cds_lfht *table = __atomic_load_n(&queues.by_hsa, __ATOMIC_ACQUIRE);
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	if (!table)
		return NULL;
	cds_lfht_lookup(table, hash_of(hsa_queue), match_hsa, &hsa_queue, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node ? caa_container_of(node, struct queue, by_hsa) : NULL;
}

/* A queue that is back from a failed DESTROY: its owner may have freed it all
 * the same. The runtime's own words about it tell. */
static bool pointers_careful(const struct queue *queue, uint64_t *rptr, uint64_t *wptr)
{
	if (queue->hsa_queue && find_hsa_queue(queue) != queue->hsa_queue)
		return false;
	return memory_read(rptr, (uint64_t)(uintptr_t)queue->rptr, sizeof(*rptr)) &&
	       memory_read(wptr, (uint64_t)(uintptr_t)queue->wptr, sizeof(*wptr));
}

bool queue_pointers(const struct queue *queue, uint64_t *rptr, uint64_t *wptr)
{
	if (!queue->readable)
		return false;
	if (queue->careful)
		return pointers_careful(queue, rptr, wptr);
	*rptr = __atomic_load_n(queue->rptr, __ATOMIC_ACQUIRE);
	*wptr = __atomic_load_n(queue->wptr, __ATOMIC_ACQUIRE);
	return true;
}

bool queue_drained(const struct queue *queue, uint64_t rptr, uint64_t wptr)
{
	/* PM4: the read pointer is an offset into the ring, in dwords. */
	if (queue->type == KFD_IOC_QUEUE_TYPE_COMPUTE && queue->ring_bytes >= sizeof(uint32_t))
		return (((uint32_t)wptr - (uint32_t)rptr) &
			((uint32_t)(queue->ring_bytes / sizeof(uint32_t)) - 1)) == 0;
	return rptr == wptr;
}

uint64_t queue_last_signal(const struct queue *queue, uint64_t wptr)
{
	uint64_t packets = queue->ring_bytes / AQL_PACKET;

	/* Only rings of an HSA runtime are known to be readable by the CPU. */
	if (!queue->hsa_queue || queue->careful || wptr == 0 ||
	    __atomic_load_n(&queue->ring_moved, __ATOMIC_RELAXED))
		return 0;
	return __atomic_load_n((const uint64_t *)(uintptr_t)(queue->ring +
							     ((wptr - 1) % packets) * AQL_PACKET +
							     AQL_COMPLETION),
			       __ATOMIC_RELAXED);
}

void queues_forget(void)
{
	memset(&queues, 0, sizeof(queues));
}
