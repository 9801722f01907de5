// SPDX-License-Identifier: MIT
/*
 * Proves that the simulated GPU survives a process that corrupts its own memory while its queues
 * run. The process overwrites everything that it has mapped (pointers, rings, signals, save areas,
 * the event page, every doorbell of the page), unmaps it, takes it from the GPU, frees it, and
 * closes file descriptors.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/words.h"

#define STEPS 300u
#define DOORBELL_WORDS 1024u

/* Submits ordinary work as long as the queues accept it. */
static void work(struct pool *pool, struct signal *signals)
{
	struct raw_queue *sdma = &pool->queues[2];
	uint32_t copy[] = {1,
			   4095,
			   0,
			   LO(pool->buffers[1].cpu),
			   HI(pool->buffers[1].cpu),
			   LO(pool->buffers[2].cpu),
			   HI(pool->buffers[2].cpu)};

	queue_dispatch(&pool->queues[0], 1 + below(&pool->dice, 500), &signals[0]);
	queue_barrier(&pool->queues[3], &signals[0], &signals[1]);
	queue_ring(&pool->queues[0]);
	queue_ring(&pool->queues[3]);
	if (sdma->written + 7 > RING_PACKETS * 16)
		return;
	memcpy((uint32_t *)sdma->ring.cpu + sdma->written, copy, sizeof copy);
	sdma->written += 7;
	__atomic_store_n(sdma->doorbell, 4 * sdma->written, __ATOMIC_RELEASE);
}

/* Overwrites a word or a part of the buffer. */
static void scribble(struct pool *pool, struct buffer *area)
{
	struct dice *dice = &pool->dice;
	uint64_t room = area->size < 1u << 20 ? area->size : 1u << 20;
	uint64_t at = once_in(dice, 2) ? 8ull * below(dice, 32) : below(dice, (uint32_t)room - 8);
	uint64_t value = any_value(pool);

	if (once_in(dice, 6))
		noise(dice, area->cpu, room < 65536 ? room : 65536);
	else
		memcpy((char *)area->cpu + (at < room - 8 ? at : 0), &value, 8);
}

/* Removes a buffer in one of several ways. */
static void unmap_buffer(struct pool *pool, struct buffer *area)
{
	struct dice *dice = &pool->dice;
	struct kfd_ioctl_map_memory_to_gpu_args map = {
		.handle = area->handle,
		.device_ids_array_ptr = (uint64_t)(uintptr_t)&pool->gpu.gpu_id,
		.n_devices = 1};
	struct kfd_ioctl_free_memory_of_gpu_args release = {.handle = area->handle};

	switch (below(dice, 5)) {
	case 0: /* only the CPU's mapping is replaced: later writes go to a new page */
		mmap(area->cpu, area->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		break;
	case 1:
		harness_ioctl(pool->gpu.kfd, KFDABI_UNMAP_MEMORY_FROM_GPU, &map, sizeof map);
		break;
	case 2:
		harness_ioctl(pool->gpu.kfd, KFDABI_UNMAP_MEMORY_FROM_GPU, &map, sizeof map);
		harness_ioctl(pool->gpu.kfd, KFDABI_FREE_MEMORY_OF_GPU, &release, sizeof release);
		break;
	case 3:
		/* the next write of the process to it is a SIGSEGV */
		munmap(area->cpu, area->size);
		break;
	default:
		madvise(area->cpu, area->size, MADV_REMOVE);
		break;
	}
}

/* Rings many doorbells of the page with arbitrary values. */
static void doorbells(struct pool *pool)
{
	struct dice *dice = &pool->dice;
	volatile uint64_t *page =
		(volatile uint64_t *)((uintptr_t)pool->queues[0].doorbell & ~(uintptr_t)8191);

	for (unsigned i = 0; i < DOORBELL_WORDS; i++)
		if (once_in(dice, 3))
			page[i] = once_in(dice, 2) ? below(dice, 200) : any_value(pool);
}

/* Issues a valid control operation on a queue. */
static void control(struct pool *pool)
{
	struct dice *dice = &pool->dice;
	struct raw_queue *queue = &pool->queues[below(dice, 4)];
	struct kfdabi_queue_snapshot entries[8];
	uint32_t n = 8, id = queue->id;
	pid_t self = getpid();

	switch (below(dice, 8)) {
	case 0:
		trap_enable(pool->gpu.kfd, self, roll(dice), pool->fds[1],
			    (struct kfdabi_runtime_info *)(uintptr_t)any_address(pool));
		break;
	case 1:
		trap_snapshot(pool->gpu.kfd, self, NEW_MASK, entries, &n);
		dbg_suspend(pool->gpu.kfd, self, &id, 1, 0);
		break;
	case 2:
		dbg_resume(pool->gpu.kfd, self, &id, 1);
		break;
	case 3:
		queue_destroy(&pool->gpu, id);
		break;
	case 4:
		trap_disable(pool->gpu.kfd, self);
		break;
	default:
		queue_update(&pool->gpu, queue, below(dice, 2) * 100);
		break;
	}
}

static void round_of_scribbling(struct pool *pool)
{
	struct dice *dice = &pool->dice;
	struct signal *signals;

	CHECK_IS(pool->n_queues, 4);
	signals = signals_new(&pool->gpu);
	for (unsigned i = 0; i < STEPS; i++) {
		struct buffer *area = &pool->buffers[below(dice, pool->n_buffers)];

		if (i % 4 == 0)
			work(pool, signals);
		if (once_in(dice, 2))
			scribble(pool, area);
		if (once_in(dice, 10))
			doorbells(pool);
		if (once_in(dice, 10))
			control(pool);
		if (i > STEPS / 4 && once_in(dice, 20))
			unmap_buffer(pool, area);
		if (i > STEPS / 2 && once_in(dice, 100))
			close(once_in(dice, 2) ? pool->gpu.kfd : pool->gpu.render);
		if (once_in(dice, 8))
			sleep_ms(1);
	}
}

int main(int argc, char **argv)
{
	return fuzz(argc, argv, round_of_scribbling);
}
