/* SPDX-License-Identifier: MIT */
/*
 * Test harness for the driver's rules: device, buffers, queues and debug calls without a runtime,
 * for kfdconform's checks and for the programs that test kfdsim. It works on hardware as well as on
 * kfdsim.
 *
 * Every failure, and every CHECK that does not hold, ends the process with status 1 and one line on
 * stderr that states what was expected. One thread, unless the comment of a function allows more.
 * Nothing is freed, because the process ends soon.
 *
 * Functions that return int return >= 0 or a negative errno, unless noted.
 */
#ifndef KFDSHIM_TOOLS_KFDCONFORM_HARNESS_HARNESS_H
#define KFDSHIM_TOOLS_KFDCONFORM_HARNESS_HARNESS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "kfd/driver_rules.h"
#include "kfd/uapi.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: false: %s\n", __FILE__, __LINE__, #condition);     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define CHECK_IS(expression, wanted)                                                               \
	check_is(__FILE__, __LINE__, #expression, (long long)(expression), (long long)(wanted))

/* If the value is not the wanted one, prints file, line, the value and the wanted value, and ends
 * the process with 1. */
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

/* Exit statuses of a check: "not possible on this machine" and "the machine was too busy". */
#define SUITE_SKIPPED 77
#define SUITE_TOO_BUSY 75
/* Prefix of the lines that TRY_AGAIN prints; a check that prints one can still pass. */
#define SUITE_TRIED_AGAIN "retried: "

/* Ends the check as "not applicable", because it is not possible on this machine. */
#define SKIP(reason)                                                                               \
	do {                                                                                       \
		fprintf(stderr, "%s\n", (reason));                                                 \
		exit(SUITE_SKIPPED);                                                               \
	} while (0)
/* Ends the check as "too busy": the machine took its cores away for so long that nothing can be
 * concluded about the rule. Not for a check that can fail instead. */
#define TOO_BUSY(reason)                                                                           \
	do {                                                                                       \
		fprintf(stderr, "%s\n", (reason));                                                 \
		exit(SUITE_TOO_BUSY);                                                              \
	} while (0)
/* Prints a line before a check repeats something. The report contains this line even if the check
 * passes. */
#define TRY_AGAIN(reason)                                                                          \
	do {                                                                                       \
		static bool is_reported;                                                           \
		if (!is_reported)                                                                  \
			fprintf(stderr, SUITE_TRIED_AGAIN "%s\n", (reason));                       \
		is_reported = true;                                                                \
	} while (0)
/* Returns whether the condition becomes true within so many milliseconds. */
#define WITHIN(ms, condition)                                                                      \
	({                                                                                         \
		bool holds_;                                                                       \
		for (unsigned ms_ = 0; !(holds_ = (condition)) && ms_ < (ms); ms_++)               \
			sleep_ms(1);                                                               \
		holds_;                                                                            \
	})

/* A GPU as described by the topology; sizes in bytes. */
struct gpu_shape {
	unsigned node; /* node number in the topology */
	uint32_t gpu_id, gfx_target_version, render_minor;
	uint32_t cus, xccs; /* totals of the node */
	uint32_t cwsr_bytes, ctl_stack_bytes, cp_queues;
	uint64_t save_mapping; /* bytes that must be mapped as save area for CREATE_QUEUE */
};

struct gpu_file {
	int kfd, render;
	uint32_t gpu_id;
	struct gpu_shape shape;
};

struct buffer {
	uint64_t size, handle;
	void *cpu; /* address on the CPU and on the GPU */
};

/* The amd_signal_t of the HSA runtime. */
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
	/* Bytes from the start of the process's doorbells for this GPU. */
	uint64_t doorbell_at;
	uint64_t written;
	uint64_t kernel; /* gpu_info.c: GPU address of the kernel descriptor, once loaded */
};

#define RING_PACKETS 64u

/* Calls a KFD ioctl. Returns >= 0 or a negative errno. */
int harness_ioctl(int fd, unsigned nr, void *arg, size_t size);
/* For an ioctl that returns no results: calls harness_ioctl() with a struct of the type and
 * fields. */
#define HARNESS_CALL(fd, nr, type, ...) harness_ioctl(fd, nr, &(type){__VA_ARGS__}, sizeof(type))
/* Calls GET_VERSION, as an ioctl that needs no arguments. */
int harness_version(int fd);
/* gpu_info.c: describes the nth GPU, counted from 0. Returns 0, or -ENODEV if there is none. */
int harness_shape(unsigned nth, struct gpu_shape *out);
/* Describes the machine for kfdabi_rule_why_not(). Returns 0, or -ENODEV if there is no GPU. */
int harness_machine(struct kfdabi_machine *out);
/* Reads a number from a file of a topology node: the whole file (key NULL), or the value after a
 * key. Returns 0 or a negative errno. */
int harness_node_number(unsigned node, const char *file, const char *key, uint64_t *out);
/* Returns a property of a node, which must have it. */
uint64_t harness_property(unsigned node, const char *key);
/* Returns whether the driver is kfdsim. */
bool harness_simulated(void);
/* Returns an integer of simulation.json after all earlier calls are counted in it; takes
 * 0.5 s or more. */
long long harness_settled(const char *key);

/* Open /dev/kfd, and the render node of the GPU. Return the file descriptor. */
int device_open(void);
int render_open(const struct gpu_file *gpu);
/* Opens the device and the render node of the first GPU and acquires the VM. */
void gpu_open(struct gpu_file *gpu);
/* Do the two steps of gpu_open(). */
void gpu_open_without_vm(struct gpu_file *gpu);
void gpu_acquire_vm(const struct gpu_file *gpu);
/* Opens the nth GPU as gpu_open() does, through the /dev/kfd file descriptor of `first`. */
void gpu_open_too(struct gpu_file *gpu, const struct gpu_file *first, unsigned nth);
/* Allocates a buffer, writable and executable, and maps it to the CPU and the GPU at one address.
 * @flags: KFD_IOC_ALLOC_MEM_FLAGS_... */
int buffer_new(const struct gpu_file *gpu, uint64_t size, uint32_t flags, struct buffer *out);
/* Call buffer_new(), which must succeed: gtt_new() for system memory, vram_new() for VRAM that the
 * CPU can map. */
void gtt_new(const struct gpu_file *gpu, uint64_t size, struct buffer *out);
void vram_new(const struct gpu_file *gpu, uint64_t size, struct buffer *out);
/* Call MAP_MEMORY and UNMAP_MEMORY with this GPU, and FREE_MEMORY. */
int memory_map(const struct gpu_file *gpu, uint64_t handle);
int memory_unmap(const struct gpu_file *gpu, uint64_t handle);
int memory_free(const struct gpu_file *gpu, uint64_t handle);
/* Unmaps and frees a buffer. */
int buffer_free(const struct gpu_file *gpu, const struct buffer *buffer);
/* queue_args() allocates the buffers of an AQL queue and fills in the arguments of CREATE_QUEUE,
 * which the caller can change before queue_create(). */
void queue_args(const struct gpu_file *gpu, struct raw_queue *queue,
		struct kfdabi_create_queue *args);
int queue_create(const struct gpu_file *gpu, struct raw_queue *queue,
		 struct kfdabi_create_queue *args);
/* queue_new() creates an AQL queue by queue_args() and queue_create(). queue_new_of_type() creates
 * a queue of another type with the same arguments and an empty ring. */
void queue_new(const struct gpu_file *gpu, struct raw_queue *queue);
void queue_new_of_type(const struct gpu_file *gpu, struct raw_queue *queue, uint32_t type);
int queue_destroy(const struct gpu_file *gpu, uint32_t id);
/* Returns the arguments of an UPDATE_QUEUE that changes nothing. */
struct kfd_ioctl_update_queue_args queue_unchanged(const struct raw_queue *queue);
/* Calls UPDATE_QUEUE with the unchanged ring and this percentage. */
int queue_update(const struct gpu_file *gpu, const struct raw_queue *queue, uint32_t percent);
/* Writes a packet (64 bytes; the header last) and the write pointer without ringing the
 * doorbell. */
void queue_publish(struct raw_queue *queue, const void *packet);
/* Submit the spin kernel (gpu_info.c) without ringing the doorbell. queue_work() occupies the
 * whole GPU for about `ms` milliseconds of wall time. queue_dispatch() runs this number of
 * workgroups of 256 work-items, each for 10 us, or on kfdsim for the profile's
 * unknown_kernel_us. */
void queue_work(struct raw_queue *queue, unsigned ms, struct signal *signal);
/* As queue_work(), but rings the doorbell and waits until the kernel has begun. A barrier packet
 * before the kernel, which takes almost no GPU time, signals the begin. */
void queue_work_begun(struct raw_queue *queue, unsigned ms, struct signal *signal);
void queue_dispatch(struct raw_queue *queue, uint32_t workgroups, struct signal *signal);
/* Writes a barrier packet that waits for the dependency (NULL: none) and then decrements the signal
 * (NULL: none). Does not ring the doorbell. */
void queue_barrier(struct raw_queue *queue, struct signal *dependency, struct signal *signal);
/* Returns the address of the next 64 bytes of the ring. The caller fills them, the header last. */
void *queue_packet(struct raw_queue *queue);
/* Rings the doorbell for all packets written so far. */
void queue_ring(struct raw_queue *queue);
/* Return the addresses of the queue's read and write pointers. */
volatile uint64_t *queue_rptr(const struct raw_queue *queue);
volatile uint64_t *queue_wptr(const struct raw_queue *queue);

/* Returns a page of signals, all zero. */
struct signal *signals_new(const struct gpu_file *gpu);
/* Returns whether the value becomes the wanted one within so many milliseconds. */
bool comes(volatile int64_t *value, int64_t wanted, unsigned ms);
/* Returns whether the value does not become the wanted one within so many milliseconds (at least
 * 2). If the driver is a program, it may have been stopped together with the machine; such time
 * does not count. */
bool is_absent(const struct gpu_file *gpu, volatile int64_t *value, int64_t wanted, unsigned ms);
void sleep_ms(unsigned ms);
/* Returns so many bytes of zeroed memory of the process, in pages of their own. */
void *map_pages(size_t size);
/* text_of() returns the text of a short file, proc_path() the path of a file of a process in
 * kfd/proc. Each result is valid until the next call of the function. */
const char *text_of(const char *path);
const char *proc_path(pid_t pid, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Installs a handler that does nothing. flags: those of sigaction(); 0: the signal interrupts a
 * sleeping call. */
void signal_handle(int signal, int flags);
/* Drops the capabilities of the mask. Returns the effective ones that the process had before. */
uint64_t capabilities_drop(uint64_t mask);
/* Waits until a thread sleeps or has ended (a pid: the first thread of that process). If a sleeping
 * call is the next thing that the thread does, the thread is inside that call afterwards. */
void until_asleep(pid_t tid);
/* Waits until a thread sleeps or has ended. The thread stores its id in *tid (0 until then)
 * directly before a sleeping call, so afterwards it is inside that call. */
void until_in_call(const pid_t *tid);

/* Creates an event for memory faults and returns its id. */
uint32_t memory_event_new(const struct gpu_file *gpu);
/* Waits up to `ms` for the event. Returns 1 and describes the fault in *out, 0 if it did not come,
 * or a negative errno. */
int memory_event_wait(const struct gpu_file *gpu, uint32_t event, unsigned ms,
		      struct kfd_hsa_memory_exception_data *out);

/* Calls RUNTIME_ENABLE. @mode: KFDABI_RUNTIME_MODE_...; 0 disables the runtime. */
int runtime_enable(const struct gpu_file *gpu, uint32_t mode);
/* Calls DBG_TRAP with any arguments on process `pid`. */
int dbg_call(int kfd, struct kfdabi_dbg_trap *args, pid_t pid, uint32_t op);
/* For an operation that returns no results: calls dbg_call() with these fields of the arguments. */
#define DBG_CALL(kfd, pid, op, ...) dbg_call(kfd, &(struct kfdabi_dbg_trap){__VA_ARGS__}, pid, op)
/* Each function calls the DBG_TRAP operation of its name on process `pid`. ids: the driver marks
 * those that it could not suspend or resume. info: NULL if the caller does not need it. */
int trap_enable(int kfd, pid_t pid, uint64_t mask, int dbg_fd, struct kfdabi_runtime_info *info);
int trap_disable(int kfd, pid_t pid);
int dbg_suspend(int kfd, pid_t pid, uint32_t *ids, uint32_t n, uint64_t mask);
int dbg_resume(int kfd, pid_t pid, uint32_t *ids, uint32_t n);
/* Calls GET_QUEUE_SNAPSHOT. *n: number of entries that fit, and afterwards number of queues. */
int trap_snapshot(int kfd, pid_t pid, uint64_t mask, struct kfdabi_queue_snapshot *entries,
		  uint32_t *n);
/* Returns the number of queues that a snapshot with room for no entry reports, or a negative
 * errno. */
int trap_count(int kfd, pid_t pid);
/* Calls SEND_RUNTIME_EVENT with these exceptions; gpu_id: for a device's exception, otherwise 0. */
int trap_send(int kfd, pid_t pid, uint64_t mask, uint32_t gpu_id);

/* A child that runs body(), and a pair of pipes for one-byte messages with it. The child exits with
 * 0 when body() returns. */
struct child {
	pid_t pid;
	int to, from;
};
/* Starts the child. body() gets its own ends of the pipes. */
void child_begin(struct child *child, void (*body)(int from, int to));
/* Sends a byte through a pipe to wake its reader. */
void notify(int fd);
void hear(int fd);		 /* waits for a byte */
bool hears(int fd, unsigned ms); /* waits up to `ms` for a byte; returns whether one came */
/* Returns whether the file descriptor becomes readable within so many milliseconds. */
bool readable_within(int fd, unsigned ms);
/* Closes the pipe to the child, waits for its end and returns its wait status. */
int child_end(struct child *child);
/* Runs body() in a child without pipes and returns its wait status. */
int run_in_child(void (*body)(void));
/* device_child_start() starts a child that opens the device, and waits until it is open.
 * device_child_end() ends the child, whose exit status must be 0. */
void device_child_start(struct child *child);
void device_child_end(struct child *child);
void seize(pid_t pid); /* become the tracer of the process */

#endif
