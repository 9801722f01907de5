/* SPDX-License-Identifier: MIT */
/*
 * A mock of the driver and the runtime for tests of the agent without a GPU. It implements the
 * agent's interface to libkfdshim.so (struct kfdshim_preload_iface) with an ioctl that allocates
 * queue ids. Queues are plain memory with ROCr's layout; the test itself writes packets to them and
 * advances their read pointers. No hardware is simulated.
 */
#ifndef KFDSHIM_TESTS_FAKE_KFD_H
#define KFDSHIM_TESTS_FAKE_KFD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "channel/agent_abi.h"
#include "kfd/uapi.h"

#define FAKE_GPU 19729u
#define FAKE_FD 200 /* above the file descriptors that a test opens */
#define FAKE_PACKETS 64u

struct fake_kfd {
	const struct kfdshim_agent *agent;
	uint64_t active_doorbells[KFDSHIM_ACTIVE_DOORBELLS];
	uint32_t n_intercept_queues;
	uint32_t active;
	uint32_t gate;
	struct kfdshim_app_settings app_settings;
	/* results of the calls, set by the test; errno values: 0 is success */
	uint32_t kfd_minor;  /* minor version; the major one is 1 */
	int enable_errno;    /* RUNTIME_ENABLE */
	int destroy_errno;   /* DESTROY_QUEUE */
	int create_errno;    /* CREATE_QUEUE */
	int alloc_errno;     /* ALLOC_MEMORY_OF_GPU */
	int free_errno;	     /* FREE_MEMORY_OF_GPU */
	uint32_t userq_id;   /* id that the next AMDGPU_USERQ create returns */
	int other_errno;     /* of all calls that have no letter below */
	int fd;		     /* fd of the calls; fake_start() sets FAKE_FD */
	int other_gpu;	     /* gpu_id of the next queue; 0: FAKE_GPU */
	uint32_t args_bytes; /* size of CREATE_QUEUE's struct in bytes; 0: the complete struct */
	void (*on_destroy)(void); /* called at the start of DESTROY_QUEUE */
	void (*on_runtime)(void); /* called inside RUNTIME_ENABLE */
	void (*on_memory)(void);  /* called inside each call about memory */
	/* The calls that the agent issued, one letter each: C CREATE_QUEUE, U UPDATE_QUEUE, D
	 * DESTROY_QUEUE, A ALLOC_MEMORY_OF_GPU, F FREE_MEMORY_OF_GPU, E RUNTIME_ENABLE, O its
	 * disable, V GET_VERSION, T DBG_TRAP, ? any other. */
	char calls[64];			  /* the first 63 calls */
	uint64_t r_debug;		  /* r_debug of the last RUNTIME_ENABLE */
	uint8_t ids[1024];		  /* 1: queue id in use */
	_Atomic uint8_t priorities[1024]; /* by queue id: last value of UPDATE_QUEUE */
	/* by queue id: last value of CREATE_QUEUE or UPDATE_QUEUE */
	_Atomic uint8_t percents[1024];
	_Atomic unsigned updates; /* number of UPDATE_QUEUE calls */
	_Atomic int update_errno; /* result of UPDATE_QUEUE */
	uint8_t update_end;	  /* last byte of the last UPDATE_QUEUE's struct */
};
extern struct fake_kfd fake;

/* A queue with ROCr's layout. `memory`: one page with the amd_queue_t at offset 0, followed by the
 * ring; fake_queue_unmap() unmaps it. */
struct fake_queue {
	uint32_t id;
	uint32_t type;
	void *memory;
	volatile uint64_t *wptr, *rptr;
	uint64_t hsa_queue;
	struct fake_signal *doorbell;
};

struct fake_signal { /* layout of amd_signal_t, 64 bytes */
	int64_t kind;
	volatile int64_t value;
	uint64_t pad[4];
	uint64_t queue_ptr;
	uint64_t pad2;
} __attribute__((aligned(64)));

/* Resets `fake` and starts the agent in this process with the current environment. */
void fake_start(void);
/* Common setup of the tests: opens `daemon`, starts the agent, creates a compute queue, and waits
 * until the daemon's stub has accepted the agent and sees the queue. */
struct fake_daemon;
void fake_begin(struct fake_daemon *daemon, struct fake_queue *queue);
/* Allocates a queue's memory without a call of the driver, and fills *args as for CREATE_QUEUE. */
void fake_queue_memory(struct fake_queue *queue, uint32_t type, struct kfdabi_create_queue *args);
/* Issues an ioctl of the program as libkfdshim.so passes it on: to the agent if KFDSHIM_IOCTLS has
 * it, else to the driver. Returns its result, with errno. */
int fake_ioctl(int fd, unsigned long request, void *arg);
/* Create, destroy or update a queue through the agent. Return the ioctl's result, with errno;
 * create fills *queue. `percent`: queue_percentage, 0 to 100. */
int fake_queue_create(struct fake_queue *queue, uint32_t type);
int fake_queue_destroy(struct fake_queue *queue);
int fake_queue_update(struct fake_queue *queue, uint32_t priority, uint32_t percent);
/* Unmaps the queue's memory. */
void fake_queue_unmap(struct fake_queue *queue);
/* Allocate and free device memory through the agent. Return the ioctl's result, with errno;
 * fake_alloc() fills *handle. */
int fake_alloc(uint32_t gpu_id, uint64_t bytes, uint32_t flags, uint64_t *handle);
int fake_free(uint64_t handle);
/* Sets the lower half of the next handle. A test uses it to play several KFD processes, each of
 * which counts its handles separately. */
void fake_handles_begin(uint32_t index);
/* Issues RUNTIME_ENABLE (mode 0: disable) as the runtime would. Returns the ioctl's result. */
int fake_runtime(uint32_t mode);

/* Writes one kernel dispatch packet to the ring and increments the write pointer, without a
 * doorbell. `completion` (or NULL) is the packet's completion signal; it is set to 1. */
void fake_submit(struct fake_queue *queue, struct fake_signal *completion);
/* Does the same, and rings the doorbell as libkfdshim.so does. Returns true if the agent was
 * called, that is if the table of active doorbells did not contain the signal. If the agent's
 * thread polls the queues at that moment, that thread publishes the activity slightly later. */
bool fake_ring(struct fake_queue *queue, struct fake_signal *completion);
/*
 * If a hook finds the agent's lock taken by the agent's thread, it leaves a request, which that
 * thread serves before it releases the lock. So once this function has had the lock, all requests
 * are served. It can take any time, but the result does not depend on timing. (A queue that must
 * stay active in a test therefore has packets left, so that a pause of the test's thread does not
 * matter.)
 */
void fake_settle(void);
/* Sets rptr to wptr: the queue is drained. */
void fake_drain(struct fake_queue *queue);
/* Sets rptr to wptr - 1: the last packet is executing. */
void fake_drain_but_last(struct fake_queue *queue);
/* Sets `signal` to 0 and reports a wait on it whose condition was met. */
void fake_waited(struct fake_signal *signal);

/*
 * Runs `body` in a child process. Each test does so, because a process can start the agent only
 * once. Returns the child's exit code, or 128 + signal; -1 if fork() failed. A failed CHECK ends
 * the child with exit code 1.
 */
int fake_in_child(void (*body)(void));
/* Waits for the end of a child process. Returns as fake_in_child(). */
int fake_wait_for(pid_t pid);
/* Defines a cmocka test named test_BODY that runs BODY in a child process. */
#define IN_CHILD(body)                                                                             \
	static void test_##body(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		assert_int_equal(fake_in_child(body), 0);                                          \
	}
/* Prints the failed condition and ends the process with exit code 1. */
void fake_failed(const char *file, int line, const char *what) __attribute__((noreturn));
/* For the child: fails unless `condition` is true. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fake_failed(__FILE__, __LINE__, #condition);                               \
	} while (0)
/* Time is real under a sanitizer, so bounds are ample there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAKE_LEAST_MS 20000
#else
#define FAKE_LEAST_MS 0
#endif
/* Fails unless `condition` becomes true within about `ms` milliseconds of virtual time. */
#define EVENTUALLY(condition, ms)                                                                  \
	do {                                                                                       \
		int left = ((ms) > FAKE_LEAST_MS ? (ms) : FAKE_LEAST_MS) * 10;                     \
		bool came = false; /* stop at the first true: the condition may be brief */        \
		while (!(came = (condition)) && left-- > 0)                                        \
			fake_sleep_us(100);                                                        \
		if (!came)                                                                         \
			fake_failed(__FILE__, __LINE__, "eventually " #condition);                 \
	} while (0)
void fake_sleep_us(unsigned us);

#endif
