// SPDX-License-Identifier: MIT
/*
 * Proves what follows when the firmware does not preempt: the errors and the GPU reset. Two GPUs,
 * with a running kernel on the first.
 *
 * Run with preempt_us = 10^7, queue_preemption_timeout_ms = 100, gpu_reset_ms = 200, so that a
 * queue with a running kernel cannot be preempted in time.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "tools/kfdconform/harness/self_debug.h"

#define TIMEOUT_MS 100
#define RESET_MS 200
#define LATE_MS 10000u /* for events that must come, because the machine can stall */
#define STANDS_MS 600u /* long enough to prove that the work does not end */

static struct gpu_file second;
static struct raw_queue far;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Another process with a queue on each GPU. For each byte that it receives it checks whether both
 * queues still run, and answers with a byte or by its end. In the first round they must run, in the
 * next ones they are expected not to. */
static void neighbour(int from, int to)
{
	struct raw_queue queues[2];
	struct signal *signals[2];
	struct gpu_file gpu, other;

	gpu_open(&gpu);
	gpu_open_too(&other, &gpu, 1);
	signals[0] = signals_new(&gpu);
	signals[1] = signals_new(&other);
	queue_new(&gpu, &queues[0]);
	queue_new(&other, &queues[1]);
	notify(to);
	for (unsigned ms = LATE_MS;; ms = STANDS_MS) {
		hear(from);
		for (unsigned i = 0; i < 2; i++) {
			signals[i]->value = 1;
			queue_barrier(&queues[i], NULL, signals[i]);
			queue_ring(&queues[i]);
			if (!comes(&signals[i]->value, 0, ms))
				_Exit(10 + (int)i);
		}
		notify(to);
	}
}

static uint32_t hw_event(void)
{
	struct kfd_ioctl_create_event_args a = {.event_type = KFD_IOC_EVENT_HW_EXCEPTION};

	CHECK_IS(harness_ioctl(self.gpu.kfd, KFDABI_CREATE_EVENT, &a, sizeof a), 0);
	return a.event_id;
}

static void hw_event_came(uint32_t id)
{
	struct kfd_event_data data = {.event_id = id};
	struct kfd_ioctl_wait_events_args a = {
		.events_ptr = (uint64_t)(uintptr_t)&data, .num_events = 1, .timeout = LATE_MS};
	struct kfd_hsa_hw_exception_data what;

	CHECK_IS(harness_ioctl(self.gpu.kfd, KFDABI_WAIT_EVENTS, &a, sizeof a), 0);
	CHECK_IS(a.wait_result, KFD_IOC_WAIT_RESULT_COMPLETE);
	memcpy(&what, &data, sizeof what);
	CHECK_IS(what.gpu_id, self.gpu.gpu_id);
	CHECK_IS(what.reset_cause, KFD_HW_EXCEPTION_GPU_HANG);
	CHECK_IS(what.memory_lost, 1);
}

static void *destroy(void *arg)
{
	CHECK_IS(queue_destroy(&self.gpu, self.queues[0].id), 0);
	return arg;
}

/* Checks the whole suspension: its errors, its duration, and the result on the other GPU. */
static void suspend_fails(void)
{
	uint32_t ids[3] = {self.queues[0].id, far.id, self.queues[1].id};
	double start, took;

	start = now_ms();
	CHECK_IS(self_debug_suspend(ids, 3), 1);
	took = now_ms() - start;
	CHECK(took >= TIMEOUT_MS && took < 5000); /* not preempt_us, with a margin for a late CPU */
	CHECK_IS(ids[0], self.queues[0].id | KFDABI_QUEUE_ERROR);
	CHECK_IS(ids[1], far.id);
	/* This queue is still new, so it is not suspended, but it gets the error of its GPU. */
	CHECK_IS(ids[2], self.queues[1].id | KFDABI_QUEUE_ERROR | SELF_DEBUG_INVALID);
}

/* The queue stays marked as suspended: its DESTROY_QUEUE sleeps until RESUME clears the mark. */
static void stays_flagged(void)
{
	pthread_t destroying_thread;

	CHECK(!pthread_create(&destroying_thread, NULL, destroy, NULL));
	sleep_ms(50);
	CHECK_IS(pthread_tryjoin_np(destroying_thread, NULL), EBUSY);
	self_debug_resume_one(&self.queues[0]);
	CHECK(!pthread_join(destroying_thread, NULL));
}

int main(void)
{
	struct child old, young;
	struct signal *work, *sent;
	struct kfdabi_create_queue args;
	struct raw_queue extra;
	uint32_t event;

	child_begin(&old, neighbour);
	hear(old.from);
	self_debug_open(1);
	gpu_open_too(&second, &self.gpu, 1);
	queue_new(&second, &far);
	self_debug_collect();
	queue_new(&self.gpu, &self.queues[1]);
	event = hw_event();
	notify(old.to);
	hear(old.from);

	work = &self.signals[self.sent++];
	work->value = 1;
	queue_work_begun(&self.queues[0], 2000, work);
	suspend_fails();
	hw_event_came(event);
	queue_args(&self.gpu, &extra, &args);
	/* the process is evicted, so the call does not wait */
	CHECK_IS(queue_create(&self.gpu, &extra, &args), 0);
	CHECK_IS(self_debug_update(&self.queues[1], true, 100), -EACCES);
	sleep_ms(RESET_MS + 50);

	/* The queues that existed stay evicted on both GPUs, whatever is resumed. */
	self_debug_resume_one(&far);
	sent = signals_new(&second);
	sent->value = 1;
	queue_barrier(&far, NULL, sent);
	queue_ring(&far);
	CHECK(!comes(&sent->value, 0, 50));
	sent = self_debug_send(&extra);
	CHECK(!comes(&sent->value, 0, 50));
	CHECK_IS(work->value, 1);
	notify(old.to);
	CHECK(!hears(old.from, LATE_MS));
	CHECK_IS(WEXITSTATUS(child_end(&old)), 10);
	stays_flagged();

	/* A process that starts now has working GPUs. */
	child_begin(&young, neighbour);
	hear(young.from);
	notify(young.to);
	hear(young.from);
	/* UPDATE_QUEUE of a process that has lost queues: the runlist is unmapped and not mapped
	 * again until another process causes a runlist update. */
	CHECK_IS(self_debug_update(&self.queues[1], true, 100), -EACCES);
	CHECK_IS(self_debug_update(&far, true, 100), 0);
	notify(young.to);
	CHECK(!hears(young.from, LATE_MS));
	CHECK_IS(WEXITSTATUS(child_end(&young)), 10);
	return 0;
}
