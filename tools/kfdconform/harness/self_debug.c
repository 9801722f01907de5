// SPDX-License-Identifier: MIT
#include "tools/kfdconform/harness/self_debug.h"

#include <string.h>
#include <unistd.h>

#include "common/clock.h"

#define SIGNALS (4096u / sizeof(struct signal))
#define FENCE_OFFSET 2048u /* in the page of the read pointer */
#define SDMA_FENCE 5u

struct self_debug self;

void self_debug_prepare(void)
{
	memset(&self, 0, sizeof self);
	self.own_pid = getpid();
	gpu_open(&self.gpu);
	CHECK_IS(runtime_enable(&self.gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	self.signals = signals_new(&self.gpu);
}

void self_debug_enable(uint64_t subscribed)
{
	struct kfdabi_runtime_info info;

	CHECK_IS(trap_enable(self.gpu.kfd, self.own_pid, subscribed, STDOUT_FILENO, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
}

void self_debug_collect(void)
{
	struct kfdabi_queue_snapshot entries[4 * SELF_DEBUG_QUEUES];
	uint32_t n = 4 * SELF_DEBUG_QUEUES;

	CHECK_IS(trap_snapshot(self.gpu.kfd, self.own_pid, NEW_MASK, entries, &n), 0);
}

void self_debug_open(unsigned queues)
{
	self_debug_prepare();
	for (unsigned i = 0; i < queues; i++)
		queue_new(&self.gpu, &self.queues[i]);
	self_debug_enable(0);
	self_debug_collect();
}

int self_debug_suspend(uint32_t *ids, uint32_t n)
{
	return dbg_suspend(self.gpu.kfd, self.own_pid, ids, n, 0);
}

int self_debug_resume(uint32_t *ids, uint32_t n)
{
	return dbg_resume(self.gpu.kfd, self.own_pid, ids, n);
}

void self_debug_suspend_one(const struct raw_queue *queue)
{
	uint32_t id = queue->id;

	CHECK_IS(self_debug_suspend(&id, 1), 1);
}

void self_debug_resume_one(const struct raw_queue *queue)
{
	uint32_t id = queue->id;

	CHECK_IS(self_debug_resume(&id, 1), 1);
}

int self_debug_trap(struct kfdabi_dbg_trap *args, uint32_t op)
{
	return dbg_call(self.gpu.kfd, args, self.own_pid, op);
}

struct signal *self_debug_send_silently(struct raw_queue *queue)
{
	struct signal *signal = &self.signals[self.sent++];

	CHECK(self.sent <= SIGNALS);
	signal->value = 1;
	queue_barrier(queue, NULL, signal);
	return signal;
}

struct signal *self_debug_send(struct raw_queue *queue)
{
	struct signal *signal = self_debug_send_silently(queue);

	queue_ring(queue);
	return signal;
}

bool self_debug_done(struct signal *signal)
{
	return comes(&signal->value, 0, SELF_DEBUG_RUNS_MS);
}

bool self_debug_stopped(struct signal *signal)
{
	return is_absent(&self.gpu, &signal->value, 0, SELF_DEBUG_STOPPED_MS);
}

bool self_debug_runs(struct raw_queue *queue)
{
	return self_debug_done(self_debug_send(queue));
}

static double now_ms(void)
{
	return (double)clock_ns() / 1e6;
}

struct signal *self_debug_suspend_at_work(struct raw_queue *queue, double *ms)
{
	struct signal *work = NULL;
	double start, ran;

	/* On a busy machine the suspend may come too late. Then repeat it with a longer
	 * dispatch. */
	for (unsigned tries = 0; tries < 10; tries++) {
		unsigned length = tries < 2 ? 15 : tries < 4 ? 60 : tries < 6 ? 200 : 500;

		work = &self.signals[self.sent++];
		work->value = 1;
		start = now_ms();
		queue_work_begun(queue, length, work);
		self_debug_suspend_one(queue);
		ran = now_ms() - start;
		*ms = 0.8 * length - ran; /* the length of a dispatch is not exact */
		if (*ms > 0.4 * length)
			return work;
		self_debug_resume_one(queue);
		CHECK(comes(&work->value, 0, 5000));
		TRY_AGAIN("the dispatch was not stopped half way");
	}
	TOO_BUSY("the machine is too busy to stop a dispatch half way");
}

int self_debug_update(const struct raw_queue *queue, bool ring, uint32_t percent)
{
	struct kfd_ioctl_update_queue_args a = queue_unchanged(queue);

	a.ring_base_address *= ring;
	a.queue_percentage = percent;
	return harness_ioctl(self.gpu.kfd, KFDABI_UPDATE_QUEUE, &a, sizeof a);
}

void self_debug_sdma(struct raw_queue *queue)
{
	struct kfdabi_create_queue args;

	queue_args(&self.gpu, queue, &args);
	memset(queue->ring.cpu, 0, queue->ring.size);
	args.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
	args.eop_buffer_address = args.eop_buffer_size = 0;
	args.ctx_save_restore_address = args.ctx_save_restore_size = args.ctl_stack_size = 0;
	CHECK_IS(queue_create(&self.gpu, queue, &args), 0);
}

void self_debug_sdma_put(struct raw_queue *queue, const uint32_t *packet, size_t bytes)
{
	memcpy((char *)queue->ring.cpu + queue->written, packet, bytes);
	queue->written += bytes; /* counted in bytes for SDMA */
	__atomic_store_n(queue_wptr(queue), queue->written, __ATOMIC_RELEASE);
	__atomic_store_n(queue->doorbell, queue->written, __ATOMIC_RELEASE);
}

volatile int64_t *self_debug_fence(struct raw_queue *queue, uint32_t value)
{
	char *at = (char *)queue->pointers[1].cpu + FENCE_OFFSET;
	uint64_t address = (uint64_t)(uintptr_t)at;
	uint32_t packet[4] = {SDMA_FENCE, 0, 0, value};

	memcpy(packet + 1, &address, sizeof address);
	self_debug_sdma_put(queue, packet, sizeof packet);
	return (volatile int64_t *)at;
}
