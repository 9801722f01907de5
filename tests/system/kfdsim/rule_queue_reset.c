// SPDX-License-Identifier: MIT
/*
 * Proves, for a compute queue that does not come off the GPU: the firmware gives up on it, the
 * driver resets that queue alone, and the SUSPEND that needed it succeeds.
 *
 * Run with preempt_stuck = queue and unmap_latency_ms = 200.
 */
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/kfdconform/harness/self_debug.h"

#define LATENCY_MS 200u
#define LATE_MS 10000u

static uint32_t hw_event(const struct gpu_file *gpu)
{
	struct kfd_ioctl_create_event_args a = {.event_type = KFD_IOC_EVENT_HW_EXCEPTION};

	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_CREATE_EVENT, &a, sizeof a), 0);
	return a.event_id;
}

/* Returns whether the event has been raised. */
static bool hw_event_is_set(const struct gpu_file *gpu, uint32_t id)
{
	struct kfd_event_data data = {.event_id = id};
	struct kfd_ioctl_wait_events_args a = {.events_ptr = (uint64_t)(uintptr_t)&data,
					       .num_events = 1};
	struct kfd_hsa_hw_exception_data what;

	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_WAIT_EVENTS, &a, sizeof a), 0);
	if (a.wait_result != KFD_IOC_WAIT_RESULT_COMPLETE)
		return false;
	memcpy(&what, &data, sizeof what);
	CHECK_IS(what.gpu_id, gpu->gpu_id);
	CHECK_IS(what.reset_cause, KFD_HW_EXCEPTION_GPU_HANG);
	return true;
}

/* Another process on the GPU: its work continues, and it gets no event. */
static void neighbour(int from, int to)
{
	struct raw_queue queue;
	struct signal *signal;
	struct gpu_file gpu;
	uint32_t event;

	gpu_open(&gpu);
	event = hw_event(&gpu);
	signal = signals_new(&gpu);
	queue_new(&gpu, &queue);
	notify(to);
	hear(from);
	signal->value = 1;
	queue_barrier(&queue, NULL, signal);
	queue_ring(&queue);
	CHECK(comes(&signal->value, 0, LATE_MS));
	CHECK(!hw_event_is_set(&gpu, event));
}

/* The call counts both queues, and lasts as long as the firmware waits for the stuck one. */
static void suspend_both(void)
{
	uint32_t ids[2] = {self.queues[0].id, self.queues[1].id};
	uint64_t begin = clock_ns();

	CHECK_IS(self_debug_suspend(ids, 2), 2);
	CHECK(clock_ns() - begin >= LATENCY_MS * 1000000ull);
	CHECK_IS(ids[0], self.queues[0].id);
	CHECK_IS(ids[1], self.queues[1].id);
}

int main(void)
{
	struct signal *work;
	struct child child;
	uint32_t event;

	child_begin(&child, neighbour);
	hear(child.from);
	self_debug_open(2);
	event = hw_event(&self.gpu);
	work = &self.signals[self.sent++];
	work->value = 1;
	queue_work_begun(&self.queues[0], 1000, work);
	CHECK(!hw_event_is_set(&self.gpu, event));
	suspend_both();
	CHECK(hw_event_is_set(&self.gpu, event));

	/* The next suspension is not slow. The queue that was reset does not run again, the others
	 * do. */
	self_debug_resume_one(&self.queues[1]);
	CHECK(self_debug_runs(&self.queues[1]));
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_stopped(self_debug_send(&self.queues[0])));
	CHECK(is_absent(&self.gpu, &work->value, 0, 1500));
	queue_new(&self.gpu, &self.queues[2]);
	CHECK(self_debug_runs(&self.queues[2]));
	notify(child.to);
	CHECK_IS(child_end(&child), 0);
	CHECK_IS(self_debug_update(&self.queues[1], true, 100), -EACCES);
	CHECK_IS(queue_destroy(&self.gpu, self.queues[0].id), 0);
	return 0;
}
