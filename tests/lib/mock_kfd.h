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
#include <sys/types.h>

#include "abi/kfd_abi.h"
#include "preload/agent.h"

#define FAKE_GPU 19729u
#define FAKE_FD 200 /* apart from those that a test has open */
#define FAKE_PACKETS 64u

struct fake_kfd {
	const struct kfdshim_agent *agent;
	uint64_t hot[KFDSHIM_HOT];
	uint32_t uppers;
	uint32_t active;
	uint32_t gate;
	struct kfdshim_wishes wishes;
	/* what it answers */
	uint32_t kfd_minor;	  /* of version 1 */
	int enable_errno;	  /* RUNTIME_ENABLE */
	int destroy_errno;	  /* DESTROY_QUEUE */
	int create_errno;	  /* CREATE_QUEUE */
	int alloc_errno;	  /* ALLOC_MEMORY_OF_GPU */
	int free_errno;		  /* FREE_MEMORY_OF_GPU */
	uint32_t userq_id;	  /* of the next AMDGPU_USERQ create */
	int other_errno;	  /* what has no letter of its own */
	int fd;			  /* the calls are made on it; FAKE_FD */
	int other_gpu;		  /* gpu_id of the next queue, 0: FAKE_GPU */
	uint32_t args_bytes;	  /* size of CREATE_QUEUE's struct, 0: all of it */
	void (*on_destroy)(void); /* runs inside DESTROY_QUEUE */
	void (*on_runtime)(void); /* runs inside RUNTIME_ENABLE */
	/* what it was asked: one letter a call. C reate, U pdate, D estroy,
	 * A lloc, F ree, E nable, O ff (disable), V ersion, T rap, other
	 * '?' */
	char calls[64];			  /* the first 63 */
	uint64_t r_debug;		  /* of the last enable */
	uint8_t ids[1024];		  /* queue ids in use */
	_Atomic uint8_t priorities[1024]; /* by UPDATE_QUEUE */
	_Atomic uint8_t percents[1024];	  /* by CREATE_QUEUE and UPDATE_QUEUE */
	_Atomic unsigned updates;	  /* how many UPDATE_QUEUEs */
	_Atomic int update_errno;	  /* UPDATE_QUEUE */
	uint8_t update_end;		  /* the last byte of the last UPDATE_QUEUE's struct */
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
/* How most tests begin: a daemon, the agent, a compute queue of it that the daemon knows. */
struct fake_daemon;
void fake_begin(struct fake_daemon *daemon, struct fake_queue *queue);
/* A queue that no driver knows: its memory, and what CREATE_QUEUE would be asked. */
void fake_queue_memory(struct fake_queue *queue, uint32_t type, struct kfdabi_create_queue *args);
/* Returns the ioctl's result; fills *queue. */
int fake_queue_create(struct fake_queue *queue, uint32_t type);
int fake_queue_destroy(struct fake_queue *queue);
int fake_queue_update(struct fake_queue *queue, uint32_t priority, uint32_t percent);
void fake_queue_unmap(struct fake_queue *queue);
/* Device memory: the ioctl's result; alloc fills *handle. */
int fake_alloc(uint32_t gpu_id, uint64_t bytes, uint32_t flags, uint64_t *handle);
int fake_free(uint64_t handle);
/* The lower half of the next handle: each KFD process has its own. */
void fake_handles_begin(uint32_t index);
/* RUNTIME_ENABLE as the runtime would issue it. */
int fake_runtime(uint32_t mode);

/* One packet with this completion signal, set to 1, into the ring, wptr + 1, no
 * doorbell. */
void fake_submit(struct fake_queue *queue, struct fake_signal *completion);
/* The same, and the doorbell as libkfdshim.so rings it. True: the agent was
 * called (the hot table did not hold the signal). If its thread was looking just
 * then, that tells the activity, a moment later. */
bool fake_ring(struct fake_queue *queue, struct fake_signal *completion);
/* rptr = wptr. */
void fake_drain(struct fake_queue *queue);
/* rptr = wptr - 1: the last packet is being carried out. */
void fake_drain_but_last(struct fake_queue *queue);
/* A wait on `signal`, now 0, whose condition was met. */
void fake_waited(struct fake_signal *signal);

/*
 * Tests run in a child each: one process has one agent. fake_in_child returns
 * its exit code, 128 + signal. In it, CHECK ends the child.
 */
int fake_in_child(void (*body)(void));
/* Waits for a child to end: the same, or -1. */
int fake_wait_for(pid_t pid);
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
		bool came = false; /* once is enough: it may pass */                               \
		while (!(came = (condition)) && left-- > 0)                                        \
			fake_sleep_us(100);                                                        \
		if (!came)                                                                         \
			fake_failed(__FILE__, __LINE__, "eventually " #condition);                 \
	} while (0)
void fake_sleep_us(unsigned us);

#endif
