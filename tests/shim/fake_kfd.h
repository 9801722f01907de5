/* SPDX-License-Identifier: MIT */
/*
 * A driver and a runtime for tests of the agent alone: the agent's host whose
 * ioctl gives queue ids, and queues in plain memory, laid out as ROCr does,
 * that the test itself fills and drains. Nothing here is simulated hardware.
 */
#ifndef KFDSHIM_TESTS_FAKE_KFD_H
#define KFDSHIM_TESTS_FAKE_KFD_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/agent.h"

#define FAKE_GPU 19729u
#define FAKE_PACKETS 64u

struct fake_kfd {
	const struct kfdshim_agent *agent;
	uint64_t hot[KFDSHIM_HOT];
	/* what it answers */
	uint32_t kfd_minor;	  /* of version 1 */
	int enable_errno;	  /* RUNTIME_ENABLE */
	int destroy_errno;	  /* DESTROY_QUEUE */
	int create_errno;	  /* CREATE_QUEUE */
	int other_gpu;		  /* gpu_id of the next queue, 0: FAKE_GPU */
	uint32_t args_bytes;	  /* size of CREATE_QUEUE's struct, 0: all of it */
	void (*on_destroy)(void); /* runs inside DESTROY_QUEUE */
	void (*on_runtime)(void); /* runs inside RUNTIME_ENABLE */
	/* what it was asked: one letter a call. C reate, U pdate, D estroy,
	 * E nable, O ff (disable), V ersion, other '?' */
	char calls[64];
	uint64_t r_debug;  /* of the last enable */
	uint8_t ids[1024]; /* queue ids in use */
};
extern struct fake_kfd fake;

/* A queue as ROCr has it. `memory`: one page with the amd_queue_t at 0, then
 * the ring; unmapped by fake_queue_unmap. */
struct fake_queue {
	uint32_t id;
	uint32_t type;
	void *memory;
	volatile uint64_t *wptr, *rptr;
	uint64_t hsa_queue;
	struct fake_signal *doorbell;
};

struct fake_signal { /* amd_signal_t: 64 bytes */
	int64_t kind;
	volatile int64_t value;
	uint64_t pad[4];
	uint64_t queue_ptr;
	uint64_t pad2;
} __attribute__((aligned(64)));

/* Starts the agent in this process with the present environment. */
void fake_start(void);
/* Returns the ioctl's result; fills *queue. */
int fake_queue_create(struct fake_queue *queue, uint32_t type);
int fake_queue_destroy(struct fake_queue *queue);
int fake_queue_update(struct fake_queue *queue, uint32_t priority, uint32_t percent);
void fake_queue_unmap(struct fake_queue *queue);
/* RUNTIME_ENABLE as the runtime would issue it. */
int fake_runtime(uint32_t mode);

/* One packet with this completion signal into the ring, wptr + 1, no doorbell. */
void fake_submit(struct fake_queue *queue, struct fake_signal *completion);
/* The same, and the doorbell as libkfdshim.so rings it. True: the agent was
 * called (the hot table did not hold the signal). */
bool fake_ring(struct fake_queue *queue, struct fake_signal *completion);
/* rptr = wptr. */
void fake_drain(struct fake_queue *queue);
/* A wait on `signal` whose condition was met. */
void fake_waited(struct fake_signal *signal);

/*
 * Tests run in a child each: one process has one agent. fake_in_child returns
 * its exit code, 128 + signal. In it, CHECK ends the child.
 */
int fake_in_child(void (*body)(void));
/* A cmocka test named test_BODY that runs BODY in a child. */
#define IN_CHILD(body)                                                                             \
	static void test_##body(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(fake_in_child(body), 0);                                          \
	}
void fake_failed(const char *file, int line, const char *what) __attribute__((noreturn));
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fake_failed(__FILE__, __LINE__, #condition);                               \
	} while (0)
/* Waits up to `ms` for it to come true. */
#define EVENTUALLY(condition, ms)                                                                  \
	do {                                                                                       \
		int left = (ms)*10;                                                                \
		while (!(condition) && left-- > 0)                                                 \
			fake_sleep_us(100);                                                        \
		if (!(condition))                                                                  \
			fake_failed(__FILE__, __LINE__, "eventually " #condition);                 \
	} while (0)
void fake_sleep_us(unsigned us);

#endif
