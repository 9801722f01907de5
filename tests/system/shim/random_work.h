/* SPDX-License-Identifier: MIT */
/*
 * The workload of random_queues: eight threads that create, update and destroy
 * queues at random, and stand at barriers while another process looks. One kind
 * of it is linked: by bare ioctls, or by whatever HSA runtime is installed. It
 * knows nothing of libkfdshim.so.
 */
#ifndef KFDSHIM_TESTS_RANDOM_WORK_H
#define KFDSHIM_TESTS_RANDOM_WORK_H

#include <stdbool.h>
#include <stdint.h>

#define WORK_THREADS 8u
#define WORK_QUEUES 4u /* at most, of one thread */
#define WORK_ANY UINT32_MAX

/* Priorities as HSA knows them; which numbers of KFD's they are, differs by version. */
enum work_level { WORK_LEVEL_NONE, WORK_LEVEL_LOW, WORK_LEVEL_NORMAL, WORK_LEVEL_HIGH };

/* A queue as the thread that has it knows it; WORK_ANY: it does not. */
struct work_queue {
	bool there;
	uint32_t id, gpu_id, type, priority, percent;
	uint64_t ring, ring_bytes, rptr, wptr;
	uint64_t hsa_queue;    /* 0: made by an ioctl */
	enum work_level level; /* none: `priority` says it */
};

/* Shared by both processes. The workload writes it, and only between barriers. */
struct work_truth {
	struct work_queue queues[WORK_THREADS][WORK_QUEUES];
	uint64_t creates, updates, destroys, refused; /* refused: by the driver, as was meant */
};

/* One step of thread `thread` with its own random numbers (nrand48). Ends the
 * process with a line on stderr when something fails that should not. */
struct work_kind {
	bool complete;				 /* the process has no other queues */
	void (*begin)(struct work_truth *truth); /* once, before the threads */
	void (*step)(struct work_truth *truth, unsigned thread, unsigned short *random);
	void (*end)(struct work_truth *truth); /* destroys what is left */
};
extern const struct work_kind work_kind;

/* Counts what was done, by any thread. */
static inline void work_count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

#endif
