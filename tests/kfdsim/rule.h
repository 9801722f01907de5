/* SPDX-License-Identifier: MIT */
/*
 * What the programs that test the simulated driver's rules share: they open the
 * device themselves and speak its ioctls, without a runtime. Every failure ends
 * the program with 1 and one line that says what was expected.
 */
#ifndef KFDSHIM_TESTS_KFDSIM_RULE_H
#define KFDSHIM_TESTS_KFDSIM_RULE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "abi/kfd_abi.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define CHECK_IS(expression, wanted)                                                               \
	do {                                                                                       \
		long long is_ = (long long)(expression), wanted_ = (long long)(wanted);            \
		if (is_ != wanted_) {                                                              \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__,       \
				#expression, is_, wanted_);                                        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define NEW_MASK kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW)
#define RUNTIME_MASK kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME)

struct gpu_file {
	int kfd, render;
	uint32_t gpu_id;
};

struct buffer {
	uint64_t size, handle;
	void *cpu; /* the GPU sees it at the same address */
};

/* amd_signal_t of the HSA runtime */
struct signal {
	int64_t kind;
	volatile int64_t value;
	uint64_t mailbox;
	uint32_t event_id, reserved;
	volatile uint64_t start_ts, end_ts;
	uint64_t queue, reserved2;
};

struct raw_queue {
	uint32_t id;
	struct buffer ring, pointers[2], eop;
	volatile uint64_t *doorbell;
	uint64_t written;
};

#define RING_PACKETS 64u

int rule_ioctl(int fd, unsigned nr, void *arg, size_t size); /* >= 0 or -errno */
/* Opens device and render node and acquires the VM. */
void gpu_open(struct gpu_file *gpu);
int buffer_new(const struct gpu_file *gpu, uint64_t size, uint32_t flags, struct buffer *out);
int buffer_free(const struct gpu_file *gpu, const struct buffer *buffer);
/* An AQL queue; its arguments as CREATE_QUEUE takes them, to be varied. */
void queue_args(const struct gpu_file *gpu, struct raw_queue *queue,
		struct kfdabi_create_queue *args);
int queue_create(const struct gpu_file *gpu, struct raw_queue *queue,
		 struct kfdabi_create_queue *args);
void queue_new(const struct gpu_file *gpu, struct raw_queue *queue);
int queue_destroy(const struct gpu_file *gpu, uint32_t id);
int queue_update(const struct gpu_file *gpu, const struct raw_queue *queue, uint32_t percent);
/* Writes a packet without ringing. The dispatched kernel is none that the
 * simulation knows, so it takes unknown_kernel_us a workgroup. */
void queue_dispatch(struct raw_queue *queue, uint32_t workgroups, struct signal *signal);
void queue_barrier(struct raw_queue *queue, struct signal *dependency, struct signal *signal);
void *queue_packet(struct raw_queue *queue); /* 64 bytes to fill; header last */
void queue_ring(struct raw_queue *queue);
volatile uint64_t *queue_rptr(const struct raw_queue *queue);
volatile uint64_t *queue_wptr(const struct raw_queue *queue);

struct signal *signals_new(const struct gpu_file *gpu); /* a page of them, all zero */
/* Does the value come within so many milliseconds? */
bool comes(volatile int64_t *value, int64_t wanted, unsigned ms);
void sleep_ms(unsigned ms);

int runtime_enable(const struct gpu_file *gpu, uint32_t mode);
int trap_enable(int kfd, pid_t pid, uint64_t mask, int dbg_fd, struct kfdabi_runtime_info *info);
int trap_disable(int kfd, pid_t pid);
int trap_suspend(int kfd, pid_t pid, uint32_t *ids, uint32_t n, uint64_t mask);
int trap_resume(int kfd, pid_t pid, uint32_t *ids, uint32_t n);
/* n in: room, out: number there is */
int trap_snapshot(int kfd, pid_t pid, uint64_t mask, struct kfdabi_queue_snapshot *entries,
		  uint32_t *n);
int trap_send(int kfd, pid_t pid, uint64_t mask);

/* A child that runs body() and a pair of one-byte channels with it. The child
 * ends with 0 when body returns. */
struct child {
	pid_t pid;
	int to, from;
};
void child_start(struct child *child, void (*body)(int from, int to));
void tell(int fd);
void hear(int fd);		    /* waits for a byte */
bool hears(int fd, unsigned ms);    /* does one come? */
int child_end(struct child *child); /* its wait status */
void seize(pid_t pid);		    /* become its tracer */

#endif
