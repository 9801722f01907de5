// SPDX-License-Identifier: MIT
/*
 * Defines the functions that libkfdshim.so calls (channel/agent_abi.h). Handles each KFD ioctl
 * before and after forwarding it to the driver.
 *
 * Threads: the hooks run in any thread of the program.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "channel/agent_abi.h"
#include "common/clock.h"
#include "common/thread_cancel.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/ends.h"
#include "shim/hold.h"
#include "shim/kfd_context.h"
#include "shim/links/daemon_link.h"
#include "shim/links/peers.h"
#include "shim/publish.h"
#include "shim/queue_override.h"
#include "shim/queue_table.h"
#include "shim/readers.h"
#include "shim/runtime.h"
#include "shim/safe_read.h"
#include "shim/sampler.h"
#include "shim/submit_gate.h"
#include "shim/thread.h"
#include "shim/topology.h"
#include "shim/vram_limit.h"

#define CU_MASK_WORDS 32u /* the driver uses at most 1024 CUs */

static const struct kfdshim_preload_iface *host;
static pid_t owner; /* PID of the process that this state belongs to */

kfdshim_agent_start_fn kfdshim_agent_start;

static uint32_t args_size(unsigned long request)
{
	return (uint32_t)_IOC_SIZE((unsigned)request);
}

/* ---- what activity reports ---- */

static void node_changed(uint32_t node, bool active, uint64_t now_ns)
{
	/* Notify the daemon first: notifying peers costs system calls, and peers act only without a
	 * daemon. */
	link_node(node, active, now_ns);
	peers_node(queues.nodes[node].gpu_id, active, now_ns);
}

static void queue_changed(const struct shim_queue *q)
{
	peers_queue(q);
	link_queue(q);
}

static void queue_gone(const struct shim_queue *q)
{
	peers_queue_gone(q);
	link_queue_gone(q);
}

static const struct activity_events activity_events = {
	.node = node_changed,
	.queue = queue_changed,
	.queue_gone = queue_gone,
	.event = link_event,
};

/* ---- ioctls ---- */

/* Adds a queue to the table: a new one if @err is 0, otherwise one whose DESTROY_QUEUE has failed
 * with @err. If the process is held, a compute queue is held, too. Another thread may free the
 * queue once it is added. */
static void add(struct shim_queue *q, int err)
{
	bool compute = !queue_is_sdma(q);

	if (err)
		entry_put_back(q, err);
	else
		entry_add_new(q);
	if (compute)
		hold_queue_created();
}

static void add_new(struct shim_queue *q)
{
	add(q, 0);
	sampler_start(); /* it may be the first queue of the process */
	sampler_wake();
}

/* Records a queue that the driver has created. */
static void created(uint32_t context, const struct kfdabi_create_queue *args, uint32_t size)
{
	struct shim_queue *q;

	if (context == CONTEXT_UNSEEN)
		return;
	q = shim_queue_new(context, args, size);
	if (!q) {
		kfdshim_log(LOG_ERROR, "a queue is not observed, and neither is its work: %s",
			    size < QUEUE_ARGS_MIN
				    ? "the struct of CREATE_QUEUE is too short to have its "
				      "id; use a newer runtime"
				    : remedy(ENOMEM, ""));
		return;
	}
	if (!q->readable)
		kfdshim_log(
			LOG_ERROR,
			"the work of queue %u is not observed, because its pointers cannot be read; "
			"please report this",
			q->id);
	add_new(q);
}

static int create_queue(int fd, unsigned long request, void *arg)
{
	struct kfdabi_create_queue args = {0};
	uint32_t size = args_size(request);
	int result, err;

	if (size > sizeof(args))
		size = sizeof(args);
	if (memory_read_mapped(&args, (uintptr_t)arg, size))
		runtime_before_queue(host, fd, args.gpu_id);
	result = host->ioctl(fd, request, arg);
	err = errno;
	if (result == 0) {
		memcpy(&args, arg, size);
		created(context_of_fd(fd), &args, size);
	}
	errno = err;
	return result;
}

/* Publishes the new settings of a queue. Under the agent's lock. */
static void changed(const struct shim_queue *q)
{
	queue_changed(q);
	link_event(CLIENT_SHM_EVENT_QUEUE_UPDATED, q, (uint64_t)q->percent << 32 | q->priority);
}

static int update_queue(int fd, unsigned long request, void *arg)
{
	struct kfd_ioctl_update_queue_args args, merged;
	uint32_t size = args_size(request);
	/* A later driver's struct may be longer: the bytes behind the known part are forwarded
	 * unchanged. */
	char whole[size + 1] __attribute__((aligned(8)));
	struct shim_queue *q;
	int result, err;
	bool compute, moved = false;

	if (size < sizeof(args) || !memory_read_mapped(whole, (uintptr_t)arg, size))
		return host->ioctl(fd, request, arg);
	memcpy(&args, whole, sizeof(args));
	agent_lock();
	q = shim_queue_by_id(context_of_fd(fd), args.queue_id);
	compute = q && !queue_is_sdma(q) && q->context == 0;
	agent_unlock();
	merged = args;
	updates_begin(&merged, compute);
	memcpy(whole, &merged, sizeof(merged));
	result = host->ioctl(fd, request, whole);
	err = errno;
	agent_lock();
	q = result == 0 ? shim_queue_by_id(context_of_fd(fd), args.queue_id) : NULL;
	if (q) {
		q->priority = args.queue_priority;
		q->percent = args.queue_percentage & 0xff;
		q->percentage = args.queue_percentage;
		q->driver_percentage = merged.queue_percentage;
		q->driver_priority = merged.queue_priority;
		q->update_ring = args.ring_base_address;
		q->update_bytes = args.ring_size;
		moved = args.ring_base_address != q->ring || args.ring_size != q->ring_bytes;
		__atomic_store_n(&q->ring_moved, moved, __ATOMIC_RELAXED);
		activity_stop(q, queue_args_stop(q->update_ring, q->update_bytes, q->percentage),
			      clock_ns());
		changed(q);
	}
	agent_unlock();
	updates_end();
	/* The caller may free the old ring after this call, so wait for readers of it. */
	if (moved)
		(void)readers_wait();
	errno = err;
	return result;
}

/* Forwards an ALLOC_QUEUE_GWS. If it succeeds, records in the table whether the queue has GWS. */
static int alloc_queue_gws(int fd, unsigned long request, void *arg)
{
	struct kfd_ioctl_alloc_queue_gws_args args;
	struct shim_queue *q;
	int result, err;

	result = host->ioctl(fd, request, arg);
	err = errno;
	if (result != 0 || args_size(request) < offsetof(typeof(args), first_gws))
		return result;
	memcpy(&args, arg, offsetof(typeof(args), first_gws));
	agent_lock();
	q = shim_queue_by_id(context_of_fd(fd), args.queue_id);
	if (q) {
		q->cooperative = args.num_gws != 0;
		changed(q);
	}
	agent_unlock();
	errno = err;
	return result;
}

/* Counts the bits of a CU mask. Returns -1 if the mask cannot be read. */
static int count_bits(uint64_t address, uint32_t bits)
{
	uint32_t word;
	int n = 0;

	for (uint32_t i = 0; i < bits / 32 && i < CU_MASK_WORDS; i++) {
		if (!memory_read(&word, address + i * sizeof(word), sizeof(word)))
			return -1;
		n += __builtin_popcount(word);
	}
	return n;
}

static int set_cu_mask(int fd, unsigned long request, void *arg)
{
	struct kfd_ioctl_set_cu_mask_args args;
	struct shim_queue *q;
	int result, err, bits;

	result = host->ioctl(fd, request, arg);
	err = errno;
	if (result != 0 || args_size(request) < sizeof(args))
		return result;
	memcpy(&args, arg, sizeof(args));
	bits = count_bits(args.cu_mask_ptr, args.num_cu_mask);
	agent_lock();
	q = shim_queue_by_id(context_of_fd(fd), args.queue_id);
	if (q && bits >= 0) {
		q->cu_bits = (uint32_t)bits;
		changed(q);
	}
	agent_unlock();
	errno = err;
	return result;
}

static int create_process(int fd, unsigned long request, void *arg)
{
	int result = host->ioctl(fd, request, arg);

	if (result == 0)
		context_new(fd);
	return result;
}

static int destroy_queue(int fd, unsigned long request, void *arg)
{
	struct kfd_ioctl_destroy_queue_args args;
	struct shim_queue *q = NULL;
	struct client_shm *shm;
	int result, err;

	if (memory_read_mapped(&args, (uintptr_t)arg, sizeof(args)))
		q = entry_take(context_of_fd(fd), args.queue_id);
	shm = link_leave_begin();
	hold_leave_begin();
	result = host->ioctl(fd, request, arg);
	err = errno;
	hold_leave_end();
	link_leave_end(shm);
	/* After EIO and ETIME the driver has destroyed the queue in spite of the error. EINVAL
	 * means that the driver has no such queue. After any other error the queue still exists. */
	if (q && result != 0 && err != EIO && err != ETIME && err != EINVAL)
		add(q, err);
	else if (q)
		shim_queue_free(q);
	errno = err;
	return result;
}

/* Forwards a call and does nothing else. */
static int plain(const struct kfdshim_preload_iface *to, int fd, unsigned long request, void *arg)
{
	return to->ioctl(fd, request, arg);
}

/* Forwards a memory call by @forward, and announces it to the daemon meanwhile (link_pin_begin()).
 * The driver executes such a call with its mutex of the process held: it pins pages, writes or
 * frees page tables, or waits for that (kfd_chardev.c of Linux 6.5 to 7.3). SVM is no such call: it
 * has locks of its own (kfd_ioctl_svm). */
static int pin(typeof(vram_alloc) *forward, int fd, unsigned long request, void *arg)
{
	int result;

	link_pin_begin();
	result = forward(host, fd, request, arg);
	link_pin_end();
	return result;
}

/* Forwards an AMDGPU_USERQ, and adds the DRM user queue that it creates to the table or removes the
 * one that it frees. All arguments are read from *arg before the call, except the id of a new
 * queue, which the driver writes to its first word. */
static int user_queue(int fd, unsigned long request, void *arg)
{
	struct render_userq args = {0};
	struct shim_queue *q = NULL;
	uint32_t context, gpu_id;
	int result, err;

	context = render_context(fd, &gpu_id);
	if (!context || args_size(request) < sizeof(args) ||
	    !memory_read_mapped(&args, (uintptr_t)arg, sizeof(args)))
		return host->ioctl(fd, request, arg);
	if (args.op == RENDER_FREE)
		q = entry_take(context, args.queue_id);
	result = host->ioctl(fd, request, arg);
	err = errno;
	if (q && result != 0)
		add(q, err);
	else if (q)
		shim_queue_free(q);
	if (args.op == RENDER_CREATE && result == 0) {
		q = render_queue_new(context, gpu_id, *(const uint32_t *)arg, &args);
		if (q) {
			kfdshim_log(
				LOG_INFO,
				"queue %u of node %u is a DRM user queue, which the driver cannot "
				"suspend; it is only observed",
				q->id, gpu_id);
			add_new(q);
		}
	}
	errno = err;
	return result;
}

static int agent_ioctl(int fd, unsigned long request, void *arg)
{
	unsigned nr = _IOC_NR((unsigned)request);
	int saved = errno;

	/* In a child made by clone() without the fork handlers the agent's state is still the
	 * parent's, so only forward the call. */
	if (getpid() != owner)
		return host->ioctl(fd, request, arg);
	NOT_CANCELLED;
	errno = saved;
	if (_IOC_TYPE((unsigned)request) != KFDABI_TYPE)
		return user_queue(fd, request, arg);
	switch (nr) {
	case KFDABI_CREATE_QUEUE:
		return create_queue(fd, request, arg);
	case KFDABI_UPDATE_QUEUE:
		return update_queue(fd, request, arg);
	case KFDABI_DESTROY_QUEUE:
		return destroy_queue(fd, request, arg);
	case KFDABI_ALLOC_MEMORY_OF_GPU:
		return pin(vram_alloc, fd, request, arg);
	case KFDABI_FREE_MEMORY_OF_GPU:
		return pin(vram_free, fd, request, arg);
	case KFDABI_MAP_MEMORY_TO_GPU:
	case KFDABI_UNMAP_MEMORY_FROM_GPU:
	case KFDABI_IMPORT_DMABUF:
		return pin(plain, fd, request, arg);
	case KFDABI_ALLOC_QUEUE_GWS:
		return alloc_queue_gws(fd, request, arg);
	case KFDABI_SET_CU_MASK:
		return set_cu_mask(fd, request, arg);
	case KFDABI_CREATE_PROCESS:
		return create_process(fd, request, arg);
	case KFDABI_RUNTIME_ENABLE:
		return runtime_ioctl(host, fd, request, arg);
	default:
		return host->ioctl(fd, request, arg);
	}
}

/*
 * Resets the state of the agent in a fork child, which has no sampler thread, no queue and no
 * connection. What belongs to the parent stays untouched, and the memory of the agent is not freed,
 * because a fork child must not call free().
 */
static void fork_child(void)
{
	NOT_CANCELLED;

	readers_after_fork_child();
	owner = getpid();
	sampler_forget();
	link_forget();
	peers_forget();
	queues_forget();
	contexts_forget();
	runtime_forget();
	vram_forget();
	hold_forget();
	updates_forget();
	topology_forget();
	activity_init(&activity_events, host->active_doorbells, &host->app_settings->requests);
	ends_init();
	gate_init(host->gate);
}

static void under_lock(void (*change)(uint64_t hsa_queue), uint64_t hsa_queue)
{
	NOT_CANCELLED;
	int saved = errno;

	agent_lock();
	if (getpid() == owner)
		change(hsa_queue);
	agent_unlock();
	errno = saved;
}

static void handle_made(uint64_t hsa_queue)
{
	under_lock(queue_join, hsa_queue);
}

static void handle_gone(uint64_t hsa_queue)
{
	under_lock(activity_part, hsa_queue);
}

static void app_settings_changed(void)
{
	NOT_CANCELLED;
	const struct kfdshim_app_settings *app_settings = host->app_settings;
	int64_t priority, slo_us;
	bool again = false;

	if (getpid() != owner)
		return;
	agent_lock();
	/* Read the values under the agent's lock, so that of two threads in this function the last
	 * one publishes the newest values. */
	priority = __atomic_load_n(&app_settings->priority, __ATOMIC_SEQ_CST);
	slo_us = __atomic_load_n(&app_settings->slo_us, __ATOMIC_SEQ_CST);
	if (priority != KFDSHIM_UNASKED && priority != config.priority) {
		__atomic_store_n(&config.priority, (int)priority, __ATOMIC_RELAXED);
		again = true;
	}
	if (slo_us != KFDSHIM_UNASKED && (uint32_t)slo_us != config.slo_us) {
		__atomic_store_n(&config.slo_us, (uint32_t)slo_us, __ATOMIC_RELAXED);
		again = true;
	}
	activity_requests(clock_ns());
	if (again)
		link_app_settings();
	agent_unlock();
	if (again)
		sampler_wake(); /* the sampler publishes the priority to the peers */
}

static uint32_t wait_begin(uint64_t signal)
{
	gate_seen_waiting();
	return ends_wait_begin(signal);
}

static const struct kfdshim_agent agent = {
	.abi = KFDSHIM_AGENT_ABI,
	.ioctl = agent_ioctl,
	.doorbell = activity_doorbell,
	.copied = ends_copied,
	.wait_begin = wait_begin,
	.wait_end = ends_wait_end,
	.loaded = ends_loaded,
	.handle_made = handle_made,
	.handle_gone = handle_gone,
	.reserve = gate_pass,
	.events = gate_seen_events,
	.events_end = ends_events,
	.app_settings_changed = app_settings_changed,
};

__attribute__((visibility("default"))) const struct kfdshim_agent *
kfdshim_agent_start(const struct kfdshim_preload_iface *the_host)
{
	if (the_host->abi != KFDSHIM_AGENT_ABI)
		return NULL;
	host = the_host;
	owner = getpid();
	queues.n_intercept_queues = host->n_intercept_queues;
	queues.active = host->active;
	readers_init();
	config_read();
	runtime_find();
	activity_init(&activity_events, host->active_doorbells, &host->app_settings->requests);
	ends_init();
	gate_init(host->gate);
	/* Without the handler a fork child could write into its parent's shared memory. */
	if (pthread_atfork(readers_before_fork, readers_after_fork_parent, fork_child) != 0)
		return NULL;
	return &agent;
}
