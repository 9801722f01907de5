/* SPDX-License-Identifier: MIT */
/*
 * A laboratory for the driver's rules: device, buffers, queues and debug calls
 * without a runtime, for kfdconform's checks and for the programs that test
 * kfdsim. Works on hardware as on kfdsim.
 *
 * Whatever goes wrong, or is not as a CHECK wants it, ends the process with 1
 * and one line on stderr that says what was expected. One thread, unless a
 * function says more; nothing here is freed: the process ends soon.
 */
#ifndef KFDSHIM_CONFORM_LAB_H
#define KFDSHIM_CONFORM_LAB_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "abi/kfd_abi.h"
#include "abi/rules.h"
#include "conform/suite.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define CHECK_IS(expression, wanted)                                                               \
	check_is(__FILE__, __LINE__, #expression, (long long)(expression), (long long)(wanted))

/* Says where, what it is and what it should be, and ends the process with 1. */
static inline void check_is(const char *file, int line, const char *what, long long is,
			    long long wanted)
{
	if (is == wanted)
		return;
	fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, what, is, wanted);
	exit(1);
}

#define NEW_MASK kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW)
#define RUNTIME_MASK kfdabi_ec_mask(KFDABI_EC_PROCESS_RUNTIME)

/* Not possible here: ends the check as "not applicable". */
#define SKIP(reason)                                                                               \
	do {                                                                                       \
		fprintf(stderr, "%s\n", (reason));                                                 \
		exit(SUITE_SKIPPED);                                                               \
	} while (0)
/* The machine took its cores away for so long that nothing can be said of the rule: ends the
 * check as "too busy". A check that can fail instead does not use this. */
#define TOO_BUSY(reason)                                                                           \
	do {                                                                                       \
		fprintf(stderr, "%s\n", (reason));                                                 \
		exit(SUITE_TOO_BUSY);                                                              \
	} while (0)
/* Before a check does something once more: the report says so, also of a check that passes. */
#define TRY_AGAIN(reason)                                                                          \
	do {                                                                                       \
		static bool said;                                                                  \
		if (!said)                                                                         \
			fprintf(stderr, SUITE_TRIED_AGAIN "%s\n", (reason));                       \
		said = true;                                                                       \
	} while (0)

/* A GPU as the topology has it; sizes in bytes. */
struct gpu_shape {
	unsigned node; /* of the topology */
	uint32_t gpu_id, gfx_target_version, render_minor;
	uint32_t cus, xccs; /* all of the node's */
	uint32_t cwsr_bytes, ctl_stack_bytes, cp_queues;
	uint64_t save_mapping; /* what CREATE_QUEUE wants to be mapped as save area */
};

struct gpu_file {
	int kfd, render;
	uint32_t gpu_id;
	struct gpu_shape shape;
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
	const struct gpu_file *gpu;
	uint32_t id;
	struct buffer ring, pointers[2], eop, save;
	volatile uint64_t *doorbell;
	uint64_t doorbell_at; /* bytes from the start of the process's doorbells of that GPU */
	uint64_t written;
	uint64_t kernel; /* work.c: its descriptor, once loaded */
};

#define RING_PACKETS 64u

int lab_ioctl(int fd, unsigned nr, void *arg, size_t size); /* >= 0 or -errno */
/* machine.c. The nth GPU, from 0; -ENODEV: there is none. */
int lab_shape(unsigned nth, struct gpu_shape *out);
int lab_machine(struct kfdabi_machine *out); /* -ENODEV: no GPU */
/* The number in a file of a topology node (key NULL), or behind a key in it. */
int lab_node_number(unsigned node, const char *file, const char *key, uint64_t *out);
bool lab_simulated(void);
/* Of simulation.json, an integer, once all that was asked for so far is counted in it
 * (0.5 s or more later). */
long long lab_settled(const char *key);
double lab_unknown_kernel_us(void); /* wall time kfdsim gives a workgroup; 0: hardware */

/* Opens device and render node of the first GPU and acquires the VM. */
void gpu_open(struct gpu_file *gpu);
/* The nth GPU through the first one's descriptor of the device. */
void gpu_open_too(struct gpu_file *gpu, const struct gpu_file *first, unsigned nth);
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
/* Writes a packet (64 bytes; the header last) without ringing. */
void queue_publish(struct raw_queue *queue, const void *packet);
/* work.c: a dispatch of the spin kernel, without ringing. queue_work: it keeps
 * the whole GPU for about so many milliseconds of wall time; queue_dispatch: so
 * many workgroups of 256 work-items, each of 10 us (on kfdsim: of the profile's
 * unknown_kernel_us). */
void queue_work(struct raw_queue *queue, unsigned ms, struct signal *signal);
/* The same, rung; comes back when it has begun, as a packet before it tells. The
 * packet costs the GPU next to nothing. */
void queue_work_begun(struct raw_queue *queue, unsigned ms, struct signal *signal);
void queue_dispatch(struct raw_queue *queue, uint32_t workgroups, struct signal *signal);
void queue_barrier(struct raw_queue *queue, struct signal *dependency, struct signal *signal);
void *queue_packet(struct raw_queue *queue); /* 64 bytes to fill; header last */
void queue_ring(struct raw_queue *queue);
volatile uint64_t *queue_rptr(const struct raw_queue *queue);
volatile uint64_t *queue_wptr(const struct raw_queue *queue);

struct signal *signals_new(const struct gpu_file *gpu); /* a page of them, all zero */
/* Does the value come within so many milliseconds? */
bool comes(volatile int64_t *value, int64_t wanted, unsigned ms);
/* Does it not come within so many (at least 2)? A driver that is a program may have stood
 * still meanwhile, with the machine: that does not count. */
bool stays_away(const struct gpu_file *gpu, volatile int64_t *value, int64_t wanted, unsigned ms);
void sleep_ms(unsigned ms);
/* Waits until that thread (of a process: the first) sleeps, or has ended. Who has nothing
 * left to do before a call that sleeps is in that call then. */
void until_asleep(pid_t tid);
/* The same for a thread that stores its number there (0 until then) just before the call. */
void until_in_call(const pid_t *tid);

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
void hear(int fd);		 /* waits for a byte */
bool hears(int fd, unsigned ms); /* does one come? */
/* Can it be read, within so many milliseconds? */
bool readable_within(int fd, unsigned ms);
int child_end(struct child *child); /* its wait status */
void seize(pid_t pid);		    /* become its tracer */

#endif
