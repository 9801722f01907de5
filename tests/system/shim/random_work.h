/* SPDX-License-Identifier: MIT */
/*
 * The workload of random_queues: eight threads that create, update and destroy queues at random,
 * and wait at barriers while another process compares. One kind is linked: by plain ioctls
 * (random_work_raw.c), or by the installed HSA runtime (random_work_hsa.c). It does not use
 * libkfdshim.so.
 */
#ifndef KFDSHIM_TESTS_RANDOM_WORK_H
#define KFDSHIM_TESTS_RANDOM_WORK_H

#include <stdbool.h>
#include <stdint.h>

#define WORK_THREADS 8u
#define WORK_QUEUES 4u /* maximum of one thread */
#define WORK_ANY UINT32_MAX

/* Priorities of HSA. The number of KFD for each of them differs by version of the runtime. */
enum work_level { WORK_LEVEL_NONE, WORK_LEVEL_LOW, WORK_LEVEL_NORMAL, WORK_LEVEL_HIGH };

/* The data that a thread has about its queue; WORK_ANY: unknown. */
struct work_queue {
	bool there;
	uint32_t id, gpu_id, type, priority, percent;
	uint64_t ring, ring_bytes, rptr, wptr;
	uint64_t hsa_queue;    /* 0: it was created by an ioctl */
	enum work_level level; /* WORK_LEVEL_NONE: `priority` is valid instead */
};

/* Memory shared by both processes. Only the workload writes it, and only between barriers. */
struct work_truth {
	struct work_queue queues[WORK_THREADS][WORK_QUEUES];
	/* `refused`: calls that the driver has refused, as intended */
	uint64_t creates, updates, destroys, refused;
};

/* The functions of a kind. `step` makes one step of thread `thread` with the thread's own random
 * state (nrand48). An unexpected error ends the process with a line on standard error. */
struct work_kind {
	bool complete;				 /* the process has no other queues */
	void (*begin)(struct work_truth *truth); /* called once, before the threads start */
	void (*step)(struct work_truth *truth, unsigned thread, unsigned short *random);
	void (*end)(struct work_truth *truth); /* destroys the remaining queues */
};
extern const struct work_kind work_kind;

/* Increments a counter; any thread. */
static inline void work_count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

#endif
