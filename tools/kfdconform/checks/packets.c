// SPDX-License-Identifier: MIT
/* Checks of what the packet processors do with PM4 packets, and the effect of a memory fault on the
 * queues of its process. */
#include <string.h>

#include "tools/kfdconform/checks.h"

#define LATE_MS 2000u

/* Waits for the memory event and returns the page address that the event contains. */
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

/* Makes the first queue cause a memory fault and waits for the memory event, which the driver sends
 * after the eviction. */
static void fault(void)
{
	uint32_t event = memory_event_new(&self.gpu);

	write_nowhere(&self.queues[0]);
	wait_for(event);
}

static RULE_CHECK(memory_fault_evicts_the_process, self_debug_open(2))
{
	struct signal *work = &self.signals[self.sent++];

	work->value = 1;
	queue_work_begun(&self.queues[1], 60, work);
	fault();
	CHECK(is_absent(&self.gpu, &work->value, 0, 200));
	CHECK(self_debug_stopped(self_debug_send(&self.queues[1])));
}

static RULE_CHECK(memory_fault_is_of_one_gpu, self_debug_open(1))
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

static RULE_CHECK(queue_of_an_evicted_process_is_off, self_debug_open(1))
{
	fault();
	queue_new(&self.gpu, &self.queues[1]);
	CHECK(self_debug_stopped(self_debug_send(&self.queues[1])));
}

static RULE_CHECK(resume_leaves_the_evicted_off, self_debug_open(2))
{
	self_debug_suspend_one(&self.queues[1]);
	fault();
	self_debug_resume_one(&self.queues[1]);
	CHECK(self_debug_stopped(self_debug_send(&self.queues[1])));
}

static RULE_CHECK(suspend_counts_the_evicted, self_debug_open(2))
{
	fault();
	self_debug_suspend_one(&self.queues[1]);
}

/* Opens a session that subscribes to memory violations, and causes a violation. */
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

static RULE_CHECK(memory_violation_passed_on_evicts, violate())
{
	uint32_t event = memory_event_new(&self.gpu);

	CHECK_IS(trap_send(self.gpu.kfd, self.own_pid, VIOLATION_MASK, self.gpu.gpu_id), 0);
	wait_for(event);
	CHECK(self_debug_stopped(self_debug_send(&self.queues[1])));
}

/* ---- PM4 packets ---- */

/* Headers of PM4 packets: type 3, number of dwords less 2, operation. */
#define WRITE_DATA (3u << 30 | 3u << 16 | 0x37u << 8)
#define PRED_EXEC (3u << 30 | 0x23u << 8)
#define MEMORY (5u << 8)
#define CONFIRMED (1u << 20)
#define WRITE_DWORDS 5u

struct packets {
	uint32_t words[32];
	size_t count;
};

static void add(struct packets *packets, uint32_t word)
{
	CHECK(packets->count < sizeof packets->words / sizeof *packets->words);
	packets->words[packets->count++] = word;
}

static void add_write(struct packets *packets, const volatile void *address, uint32_t value)
{
	add(packets, WRITE_DATA);
	add(packets, MEMORY | CONFIRMED);
	add(packets, (uint32_t)(uintptr_t)address);
	add(packets, (uint32_t)((uint64_t)(uintptr_t)address >> 32));
	add(packets, value);
}

/* Appends a PRED_EXEC packet: only the XCCs in the mask execute the next `dwords` dwords. */
static void add_pred_exec(struct packets *packets, uint32_t xccs, uint32_t dwords)
{
	add(packets, PRED_EXEC);
	add(packets, xccs << 24 | dwords);
}

/* Submits the packets and rings the doorbell. */
static void submit(struct raw_queue *queue, const struct packets *packets)
{
	memcpy((uint32_t *)queue->ring.cpu + queue->written, packets->words,
	       packets->count * sizeof *packets->words);
	queue->written += packets->count; /* counted in dwords for PM4 */
	__atomic_store_n(queue_wptr(queue), queue->written, __ATOMIC_RELEASE);
	__atomic_store_n(queue->doorbell, queue->written, __ATOMIC_RELEASE);
}

static RULE_CHECK(pred_exec_is_for_the_xccs_it_names, self_debug_prepare())
{
	struct packets packets = {0};
	struct raw_queue queue;
	volatile int64_t *cells = &self.signals[0].value;

	queue_new_of_type(&self.gpu, &queue, KFD_IOC_QUEUE_TYPE_COMPUTE);
	/* One write for the first XCC, one for no XCC, and one after both. */
	add_pred_exec(&packets, 1, WRITE_DWORDS);
	add_write(&packets, &cells[0], 1);
	add_pred_exec(&packets, 0, WRITE_DWORDS);
	add_write(&packets, &cells[1], 1);
	add_write(&packets, &cells[2], 1);
	submit(&queue, &packets);
	CHECK(comes(&cells[2], 1, SELF_DEBUG_RUNS_MS));
	CHECK_IS(cells[0], 1);
	CHECK_IS(cells[1], 0);
}
