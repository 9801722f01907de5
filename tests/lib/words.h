/* SPDX-License-Identifier: MIT */
/*
 * Queues that take dwords instead of 64-byte packets (PM4, SDMA), for the programs that test them,
 * and packets that these tests share.
 */
#ifndef KFDSHIM_TESTS_LIB_WORDS_H
#define KFDSHIM_TESTS_LIB_WORDS_H

#include "tools/kfdconform/harness/harness.h"

/* ms to wait for an expected event; long, because the machine stalls now and then */
#define LATE_MS 10000u

#define LO(address) ((uint32_t)(uintptr_t)(address))
#define HI(address) ((uint32_t)((uint64_t)(uintptr_t)(address) >> 32))
/* Header of a PM4 packet of `dwords` dwords. */
#define PM4(op, dwords) (3u << 30 | ((dwords)-2u) << 16 | (op) << 8)

struct word_queue {
	struct raw_queue raw;
	uint64_t written; /* dwords written so far */
	bool bytes;	  /* SDMA: the queue's pointers count bytes, not dwords */
};

/* Creates a queue of `type` (KFD_IOC_QUEUE_TYPE_*) with a zeroed ring. */
static inline void words_new(const struct gpu_file *gpu, struct word_queue *queue, uint32_t type)
{
	struct kfdabi_create_queue args;

	queue_args(gpu, &queue->raw, &args);
	for (unsigned i = 0; i < RING_PACKETS * 16; i++)
		((uint32_t *)queue->raw.ring.cpu)[i] = 0;
	args.queue_type = type;
	queue->written = 0;
	queue->bytes = type != KFD_IOC_QUEUE_TYPE_COMPUTE;
	CHECK_IS(queue_create(gpu, &queue->raw, &args), 0);
}

/* Writes n dwords to the ring, without a doorbell. */
static inline void words_put(struct word_queue *queue, const uint32_t *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		((uint32_t *)queue->raw.ring.cpu)[queue->written++ % (RING_PACKETS * 16)] =
			words[i];
}
/* Writes the listed dwords to the ring. */
#define PUT(queue, ...)                                                                            \
	words_put(queue, (const uint32_t[]){__VA_ARGS__},                                          \
		  sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* Publishes the write pointer and rings the doorbell. */
static inline void words_ring(struct word_queue *queue)
{
	uint64_t value = queue->bytes ? 4 * queue->written : queue->written;

	*queue_wptr(&queue->raw) = value;
	__atomic_store_n(queue->raw.doorbell, value, __ATOMIC_RELEASE);
}

#endif
