// SPDX-License-Identifier: MIT
/* The effect of a memory fault on the queues of its process. */

#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/self_debug.h"

#define BAD_ADDRESS 0x20000u
#define LATE_MS 2000u
#define VIOLATION_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_MEMORY_VIOLATION)

/* Waits for the memory event and returns the address of the page in it. */
static uint64_t wait_for(uint32_t event)
{
	struct kfd_hsa_memory_exception_data what;

	CHECK_IS(memory_event_wait(&self.gpu, event, LATE_MS, &what), 1);
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
static void fault(void)
{
	uint32_t event = memory_event_new(&self.gpu);

	write_nowhere(&self.queues[0]);
	wait_for(event);
}

RULE_CHECK(memory_fault_evicts_the_process, self_debug_open(2))
{
	struct signal *work = &self.signals[self.sent++];

	work->value = 1;
	queue_work_begun(&self.queues[1], 60, work);
	fault();
	CHECK(is_absent(&self.gpu, &work->value, 0, 200));
	CHECK(self_debug_stopped(self_debug_send(&self.queues[1])));
}

RULE_CHECK(memory_fault_is_of_one_gpu, self_debug_open(1))
{
	struct gpu_file second;
	struct signal *signal;
	struct raw_queue far;

	gpu_open_too(&second, &self.gpu, 1);
	queue_new(&second, &far);
	signal = signals_new(&second);
	fault();
	signal->value = 1;
	queue_barrier(&far, NULL, signal);
	queue_ring(&far);
	CHECK(self_debug_done(signal));
}

void check_sdma_fault_tells_where_it_stopped(void)
{
	enum { SDMA_FENCE = 5 };
	struct raw_queue sdma;
	uint32_t event;

	self_debug_prepare();
	self_debug_sdma(&sdma);
	event = memory_event_new(&self.gpu);
	self_debug_sdma_put(&sdma, (uint32_t[]){SDMA_FENCE, BAD_ADDRESS + 16, 0, 1}, 16);
	CHECK_IS(wait_for(event), BAD_ADDRESS);
}

RULE_CHECK(queue_of_an_evicted_process_is_off, self_debug_open(1))
{
	fault();
	queue_new(&self.gpu, &self.queues[1]);
	CHECK(self_debug_stopped(self_debug_send(&self.queues[1])));
}

RULE_CHECK(resume_leaves_the_evicted_off, self_debug_open(2))
{
	self_debug_suspend_one(&self.queues[1]);
	fault();
	self_debug_resume_one(&self.queues[1]);
	CHECK(self_debug_stopped(self_debug_send(&self.queues[1])));
}

RULE_CHECK(suspend_counts_the_evicted, self_debug_open(2))
{
	fault();
	self_debug_suspend_one(&self.queues[1]);
}

/* Opens a session that subscribes to memory violations, and causes one. */
static void violate(void)
{
	struct kfdabi_dbg_trap a = {0};

	self_debug_prepare();
	for (unsigned i = 0; i < 2; i++)
		queue_new(&self.gpu, &self.queues[i]);
	self_debug_enable(VIOLATION_MASK);
	write_nowhere(&self.queues[0]);
	CHECK(WITHIN(LATE_MS, self_debug_trap(&a, KFDABI_TRAP_QUERY_DEBUG_EVENT) != -EAGAIN));
}

RULE_IS(memory_violation_evicts_nothing, violate(), self_debug_runs(&self.queues[1]), true)

RULE_CHECK(memory_violation_passed_on_evicts, violate())
{
	uint32_t event = memory_event_new(&self.gpu);

	CHECK_IS(trap_send(self.gpu.kfd, self.own_pid, VIOLATION_MASK, self.gpu.gpu_id), 0);
	wait_for(event);
	CHECK(self_debug_stopped(self_debug_send(&self.queues[1])));
}
