// SPDX-License-Identifier: MIT
#include "tools/kfdconform/harness/self_debug.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define SIGNALS (4096u / sizeof(struct signal))
#define FENCE_OFFSET 2048u /* in the page of the read pointer */
#define SDMA_FENCE 5u

void desk_prepare(struct desk *desk)
{
	memset(desk, 0, sizeof *desk);
	desk->self = getpid();
	gpu_open(&desk->gpu);
	CHECK_IS(runtime_enable(&desk->gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	desk->signals = signals_new(&desk->gpu);
}

void desk_enable(struct desk *desk, uint64_t subscribed)
{
	struct kfdabi_runtime_info info;

	CHECK_IS(trap_enable(desk->gpu.kfd, desk->self, subscribed, STDOUT_FILENO, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
}

void desk_collect(struct desk *desk)
{
	struct kfdabi_queue_snapshot entries[4 * DESK_QUEUES];
	uint32_t n = 4 * DESK_QUEUES;

	CHECK_IS(trap_snapshot(desk->gpu.kfd, desk->self, NEW_MASK, entries, &n), 0);
}

void desk_open(struct desk *desk, unsigned queues)
{
	desk_prepare(desk);
	for (unsigned i = 0; i < queues; i++)
		queue_new(&desk->gpu, &desk->queues[i]);
	desk_enable(desk, 0);
	desk_collect(desk);
}

int desk_suspend(struct desk *desk, uint32_t *ids, uint32_t n)
{
	return trap_suspend(desk->gpu.kfd, desk->self, ids, n, 0);
}

int desk_resume(struct desk *desk, uint32_t *ids, uint32_t n)
{
	return trap_resume(desk->gpu.kfd, desk->self, ids, n);
}

void desk_suspend_one(struct desk *desk, const struct raw_queue *queue)
{
	uint32_t id = queue->id;

	CHECK_IS(desk_suspend(desk, &id, 1), 1);
}

void desk_resume_one(struct desk *desk, const struct raw_queue *queue)
{
	uint32_t id = queue->id;

	CHECK_IS(desk_resume(desk, &id, 1), 1);
}

int desk_trap(struct desk *desk, struct kfdabi_dbg_trap *args, uint32_t op)
{
	args->pid = (uint32_t)desk->self;
	args->op = op;
	return lab_ioctl(desk->gpu.kfd, KFDABI_DBG_TRAP, args, sizeof *args);
}

struct signal *desk_send_silently(struct desk *desk, struct raw_queue *queue)
{
	struct signal *signal = &desk->signals[desk->sent++];

	CHECK(desk->sent <= SIGNALS);
	signal->value = 1;
	queue_barrier(queue, NULL, signal);
	return signal;
}

struct signal *desk_send(struct desk *desk, struct raw_queue *queue)
{
	struct signal *signal = desk_send_silently(desk, queue);

	queue_ring(queue);
	return signal;
}

bool desk_done(struct signal *signal)
{
	return comes(&signal->value, 0, DESK_RUNS_MS);
}

bool desk_stands(const struct desk *desk, struct signal *signal)
{
	return stays_away(&desk->gpu, &signal->value, 0, DESK_STANDS_MS);
}

bool desk_runs(struct desk *desk, struct raw_queue *queue)
{
	return desk_done(desk_send(desk, queue));
}

static double now_ms(void)
{
	return (double)clock_ns() / 1e6;
}

struct signal *desk_suspend_at_work(struct desk *desk, struct raw_queue *queue, double *ms)
{
	struct signal *work = NULL;
	double start, ran;

	/* On a busy machine the suspend may come too late. Then repeat it with a longer
	 * dispatch. */
	for (unsigned tries = 0; tries < 10; tries++) {
		unsigned length = tries < 2 ? 15 : tries < 4 ? 60 : tries < 6 ? 200 : 500;

		work = &desk->signals[desk->sent++];
		work->value = 1;
		start = now_ms();
		queue_work_begun(queue, length, work);
		desk_suspend_one(desk, queue);
		ran = now_ms() - start;
		*ms = 0.8 * length - ran; /* the length of a dispatch is not exact */
		if (*ms > 0.4 * length)
			return work;
		desk_resume_one(desk, queue);
		CHECK(comes(&work->value, 0, 5000));
		TRY_AGAIN("the dispatch was not stopped half way");
	}
	TOO_BUSY("the machine is too busy to stop a dispatch half way");
}

int desk_update(struct desk *desk, const struct raw_queue *queue, bool ring, uint32_t percent)
{
	struct kfd_ioctl_update_queue_args a = {
		.ring_base_address = ring ? (uint64_t)(uintptr_t)queue->ring.cpu : 0,
		.queue_id = queue->id,
		.ring_size = RING_PACKETS * 64,
		.queue_percentage = percent,
		.queue_priority = 7,
	};

	return lab_ioctl(desk->gpu.kfd, KFDABI_UPDATE_QUEUE, &a, sizeof a);
}

void desk_sdma(struct desk *desk, struct raw_queue *queue)
{
	struct kfdabi_create_queue args;

	queue_args(&desk->gpu, queue, &args);
	memset(queue->ring.cpu, 0, queue->ring.size);
	args.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
	args.eop_buffer_address = args.eop_buffer_size = 0;
	args.ctx_save_restore_address = args.ctx_save_restore_size = args.ctl_stack_size = 0;
	CHECK_IS(queue_create(&desk->gpu, queue, &args), 0);
}

void desk_sdma_put(struct raw_queue *queue, const uint32_t *packet, size_t bytes)
{
	memcpy((char *)queue->ring.cpu + queue->written, packet, bytes);
	queue->written += bytes; /* counted in bytes for SDMA */
	__atomic_store_n(queue_wptr(queue), queue->written, __ATOMIC_RELEASE);
	__atomic_store_n(queue->doorbell, queue->written, __ATOMIC_RELEASE);
}

volatile int64_t *desk_fence(struct raw_queue *queue, uint32_t value)
{
	char *at = (char *)queue->pointers[1].cpu + FENCE_OFFSET;
	uint64_t address = (uint64_t)(uintptr_t)at;
	uint32_t packet[4] = {SDMA_FENCE, 0, 0, value};

	memcpy(packet + 1, &address, sizeof address);
	desk_sdma_put(queue, packet, sizeof packet);
	return (volatile int64_t *)at;
}
