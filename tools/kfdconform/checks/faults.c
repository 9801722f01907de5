// SPDX-License-Identifier: MIT
/* The effect of a memory fault on the queues of its process. */
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/self_debug.h"

#define BAD_ADDRESS 0x20000u
#define LATE_MS 2000u
#define VIOLATION_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_MEMORY_VIOLATION)

static uint32_t memory_event(const struct desk *desk)
{
	struct kfd_ioctl_create_event_args a = {.event_type = KFD_IOC_EVENT_MEMORY};

	CHECK_IS(lab_ioctl(desk->gpu.kfd, KFDABI_CREATE_EVENT, &a, sizeof a), 0);
	return a.event_id;
}

/* Waits for the memory event and returns the address of the page in it. */
static uint64_t wait_for(const struct desk *desk, uint32_t event)
{
	struct kfd_event_data data = {.event_id = event};
	struct kfd_ioctl_wait_events_args a = {
		.events_ptr = (uint64_t)(uintptr_t)&data, .num_events = 1, .timeout = LATE_MS};
	struct kfd_hsa_memory_exception_data what;

	CHECK_IS(lab_ioctl(desk->gpu.kfd, KFDABI_WAIT_EVENTS, &a, sizeof a), 0);
	CHECK_IS(a.wait_result, KFD_IOC_WAIT_RESULT_COMPLETE);
	memcpy(&what, &data, sizeof what);
	return what.va;
}

/* Lets the GPU write to an address without a mapping. */
static void write_nowhere(struct raw_queue *queue)
{
	queue_barrier(queue, NULL, (struct signal *)BAD_ADDRESS);
	queue_ring(queue);
}

/* Lets the first queue fault and waits for the memory event, which the driver sends
 * after the eviction. */
static void fault(struct desk *desk)
{
	uint32_t event = memory_event(desk);

	write_nowhere(&desk->queues[0]);
	wait_for(desk, event);
}

void check_memory_fault_evicts_the_process(void)
{
	struct signal *work;
	struct desk desk;

	desk_open(&desk, 2);
	work = &desk.signals[desk.sent++];
	work->value = 1;
	queue_work_begun(&desk.queues[1], 60, work);
	fault(&desk);
	CHECK(stays_away(&desk.gpu, &work->value, 0, 200));
	CHECK(desk_stands(&desk, desk_send(&desk, &desk.queues[1])));
}

void check_memory_fault_is_of_one_gpu(void)
{
	struct gpu_file second;
	struct signal *signal;
	struct raw_queue far;
	struct desk desk;

	desk_open(&desk, 1);
	gpu_open_too(&second, &desk.gpu, 1);
	queue_new(&second, &far);
	signal = signals_new(&second);
	fault(&desk);
	signal->value = 1;
	queue_barrier(&far, NULL, signal);
	queue_ring(&far);
	CHECK(desk_done(signal));
}

void check_sdma_fault_tells_where_it_stopped(void)
{
	enum { SDMA_FENCE = 5 };
	struct raw_queue sdma;
	struct desk desk;
	uint32_t event;

	desk_prepare(&desk);
	desk_sdma(&desk, &sdma);
	event = memory_event(&desk);
	desk_sdma_put(&sdma, (uint32_t[]){SDMA_FENCE, BAD_ADDRESS + 16, 0, 1}, 16);
	CHECK_IS(wait_for(&desk, event), BAD_ADDRESS);
}

void check_queue_of_an_evicted_process_is_off(void)
{
	struct desk desk;

	desk_open(&desk, 1);
	fault(&desk);
	queue_new(&desk.gpu, &desk.queues[1]);
	CHECK(desk_stands(&desk, desk_send(&desk, &desk.queues[1])));
}

void check_resume_leaves_the_evicted_off(void)
{
	struct desk desk;

	desk_open(&desk, 2);
	desk_suspend_one(&desk, &desk.queues[1]);
	fault(&desk);
	desk_resume_one(&desk, &desk.queues[1]);
	CHECK(desk_stands(&desk, desk_send(&desk, &desk.queues[1])));
}

void check_suspend_counts_the_evicted(void)
{
	struct desk desk;

	desk_open(&desk, 2);
	fault(&desk);
	desk_suspend_one(&desk, &desk.queues[1]);
}

/* Opens a session that subscribes to memory violations, and causes one. */
static void violate(struct desk *desk)
{
	struct kfdabi_dbg_trap a = {0};
	uint64_t until = clock_ns() + LATE_MS * 1000000ull;

	desk_prepare(desk);
	for (unsigned i = 0; i < 2; i++)
		queue_new(&desk->gpu, &desk->queues[i]);
	desk_enable(desk, VIOLATION_MASK);
	write_nowhere(&desk->queues[0]);
	while (desk_trap(desk, &a, KFDABI_TRAP_QUERY_DEBUG_EVENT) == -EAGAIN) {
		CHECK(clock_ns() < until);
		sleep_ms(1);
	}
}

void check_memory_violation_evicts_nothing(void)
{
	struct desk desk;

	violate(&desk);
	CHECK(desk_runs(&desk, &desk.queues[1]));
}

void check_memory_violation_passed_on_evicts(void)
{
	struct kfdabi_dbg_trap a = {.u.send_runtime_event.exception_mask = VIOLATION_MASK};
	struct desk desk;
	uint32_t event;

	violate(&desk);
	event = memory_event(&desk);
	a.u.send_runtime_event.gpu_id = desk.gpu.gpu_id;
	CHECK_IS(desk_trap(&desk, &a, KFDABI_TRAP_SEND_RUNTIME_EVENT), 0);
	wait_for(&desk, event);
	CHECK(desk_stands(&desk, desk_send(&desk, &desk.queues[1])));
}
