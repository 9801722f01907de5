// SPDX-License-Identifier: MIT
/*
 * The agent's face to libkfdshim.so (preload/agent.h), and what happens to a
 * queue ioctl on its way to the driver and back.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "preload/agent.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/link.h"
#include "shim/memory.h"
#include "shim/queues.h"
#include "shim/runtime.h"
#include "shim/sampler.h"

static const struct kfdshim_host *host;
static pid_t owner; /* the process whose queues these are */

kfdshim_agent_start_fn kfdshim_agent_start;

static uint32_t args_size(unsigned long request)
{
	return (uint32_t)_IOC_SIZE((unsigned)request);
}

/* The owner frees the queue's memory when the driver has destroyed it: from
 * here on nothing of ours may read it. */
static struct queue *take(uint32_t id)
{
	struct queue *q;

	agent_lock();
	q = queue_by_id(id);
	if (q) {
		activity_queue_removed(q, clock_ns());
		queue_remove(q);
	}
	agent_unlock();
	if (q)
		rcu_wait();
	return q;
}

/* An id that comes again without a DESTROY_QUEUE that we saw: the old is gone. */
static void drop_id(uint32_t id)
{
	struct queue *q = take(id);

	if (q)
		queue_free(q);
}

/* Into the table and into the lane; if that cannot be, the queue is only
 * unseen. */
static void add(struct queue *q)
{
	int err;

	agent_lock();
	err = queue_insert(q);
	if (!err)
		activity_queue_added(q, clock_ns());
	agent_unlock();
	if (!err)
		return;
	say(LOG_ERROR, "queue %u is not seen: %s", q->id, strerror(-err));
	queue_free(q);
}

static int create_queue(int fd, unsigned long request, void *arg)
{
	struct kfdabi_create_queue args = {0};
	uint32_t size = args_size(request);
	struct queue *q;
	int result, err;

	if (size > sizeof(args))
		size = sizeof(args);
	if (memory_read(&args, (uint64_t)(uintptr_t)arg, size))
		runtime_before_queue(host, fd, args.gpu_id);
	result = host->ioctl(fd, request, arg);
	err = errno;
	if (result == 0) {
		memcpy(&args, arg, size);
		q = queue_new(&args, size);
		if (q) {
			drop_id(q->id);
			add(q);
			sampler_start();
			sampler_wake();
		}
	}
	errno = err;
	return result;
}

static int update_queue(int fd, unsigned long request, void *arg)
{
	struct kfd_ioctl_update_queue_args args;
	struct queue *q;
	int result, err;

	result = host->ioctl(fd, request, arg);
	err = errno;
	if (result != 0 || args_size(request) < sizeof(args))
		return result;
	memcpy(&args, arg, sizeof(args));
	agent_lock();
	q = queue_by_id(args.queue_id);
	if (q) {
		q->priority = args.queue_priority;
		q->percent = args.queue_percentage & 0xff;
		q->update_ring = args.ring_base_address;
		q->update_bytes = args.ring_size;
		__atomic_store_n(&q->ring_moved, args.ring_base_address != q->ring,
				 __ATOMIC_RELAXED);
		link_queue(q);
	}
	agent_unlock();
	errno = err;
	return result;
}

static void put_back(struct queue *q, int err)
{
	/* Interrupted: the thunk asks again. After anything else ROCr frees the
	 * memory although the queue is there. */
	if (err != EINTR && err != EAGAIN)
		q->careful = true;
	add(q);
}

static int destroy_queue(int fd, unsigned long request, void *arg)
{
	struct kfd_ioctl_destroy_queue_args args;
	struct queue *q = NULL;
	struct lane *lane;
	int result, err;

	if (memory_read(&args, (uint64_t)(uintptr_t)arg, sizeof(args)))
		q = take(args.queue_id);
	lane = link_leave_begin();
	result = host->ioctl(fd, request, arg);
	err = errno;
	link_leave_end(lane);
	/* EIO, ETIME: the driver reports trouble, and the queue is gone. */
	if (q && result != 0 && err != EIO && err != ETIME)
		put_back(q, err);
	else if (q)
		queue_free(q);
	errno = err;
	return result;
}

static int agent_ioctl(int fd, unsigned long request, void *arg)
{
	unsigned nr = _IOC_NR((unsigned)request);
	int saved = errno;

	/* A child made by a bare clone, which no fork handler saw. */
	if (getpid() != owner)
		return host->ioctl(fd, request, arg);
	errno = saved;
	switch (nr) {
	case KFDABI_CREATE_QUEUE:
		return create_queue(fd, request, arg);
	case KFDABI_UPDATE_QUEUE:
		return update_queue(fd, request, arg);
	case KFDABI_DESTROY_QUEUE:
		return destroy_queue(fd, request, arg);
	case KFDABI_RUNTIME_ENABLE:
		return runtime_ioctl(host, fd, request, arg);
	default:
		return host->ioctl(fd, request, arg);
	}
}

/*
 * fork: liburcu's own locks are taken around it. The child has no such thread,
 * no queue and no link; what the parent had stays untouched, and our memory of
 * it is left where it is (a fork child may not free).
 */
static void fork_child(void)
{
	urcu_bp_after_fork_child();
	owner = getpid();
	sampler_forget();
	link_forget();
	queues_forget();
	runtime_forget();
	activity_init(host->hot);
}

static const struct kfdshim_agent agent = {
	.abi = KFDSHIM_AGENT_ABI,
	.ioctl = agent_ioctl,
	.doorbell = activity_doorbell,
	.wait_begin = activity_wait_begin,
	.wait_end = activity_wait_end,
};

__attribute__((visibility("default"))) const struct kfdshim_agent *
kfdshim_agent_start(const struct kfdshim_host *the_host)
{
	if (the_host->abi != KFDSHIM_AGENT_ABI)
		return NULL;
	host = the_host;
	owner = getpid();
	config_read();
	activity_init(host->hot);
	/* Without it a child could write into its parent's lane. */
	if (pthread_atfork(urcu_bp_before_fork, urcu_bp_after_fork_parent, fork_child) != 0)
		return NULL;
	return &agent;
}
