// SPDX-License-Identifier: MIT
/*
 * Proves that the simulated driver survives ioctls of every number, known and unknown, on the KFD
 * device and on the render node, with random and partly valid structs, sizes and pointers.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define CALLS 600u
#define CELLS 64u
#define DRM_TYPE 'd'
#define DRM_DRIVER 0x40u /* first of amdgpu's own ioctl numbers */

/* Writes valid arguments of ioctl `nr` to `to`, which the caller then changes at random. Returns
 * their size in bytes; 0 if the number needs no particular arguments. */
static size_t good(struct pool *pool, unsigned nr, void *to)
{
	struct dice *dice = &pool->dice;
	struct raw_queue *queue = &pool->queues[below(dice, 4)], spare;
	struct buffer *area = &pool->buffers[below(dice, pool->n_buffers)];
	union {
		struct kfdabi_create_queue create;
		struct kfd_ioctl_update_queue_args update;
		struct kfd_ioctl_alloc_memory_of_gpu_args alloc;
		struct kfd_ioctl_map_memory_to_gpu_args map;
		struct kfd_ioctl_wait_events_args wait;
		struct kfd_ioctl_set_cu_mask_args mask;
		struct kfdabi_dbg_trap trap;
		struct kfdabi_runtime_enable runtime;
		struct kfd_ioctl_svm_args svm;
		struct kfdabi_export_dmabuf export;
	} a;
	size_t size = 0;

	memset(&a, 0, sizeof a);
	switch (nr) {
	case KFDABI_CREATE_QUEUE:
		queue_args(&pool->gpu, &spare, &a.create);
		a.create.queue_type = below(dice, 6);
		size = sizeof a.create;
		break;
	case KFDABI_UPDATE_QUEUE:
		a.update = (struct kfd_ioctl_update_queue_args){
			.ring_base_address = (uint64_t)(uintptr_t)queue->ring.cpu,
			.queue_id = queue->id,
			.ring_size = RING_PACKETS * 64,
			.queue_percentage = below(dice, 2) * 100,
			.queue_priority = below(dice, 11)};
		size = sizeof a.update;
		break;
	case KFDABI_ALLOC_MEMORY_OF_GPU:
		a.alloc = (struct kfd_ioctl_alloc_memory_of_gpu_args){
			.va_addr = any_address(pool) & ~4095ull,
			.size = 4096ull << below(dice, 20),
			.gpu_id = pool->gpu.gpu_id,
			.mmap_offset = any_address(pool),
			.flags = 1u << below(dice, 8) | 1u << (24 + below(dice, 8))};
		size = sizeof a.alloc;
		break;
	case KFDABI_MAP_MEMORY_TO_GPU:
	case KFDABI_UNMAP_MEMORY_FROM_GPU:
		a.map = (struct kfd_ioctl_map_memory_to_gpu_args){
			.handle = area->handle,
			.device_ids_array_ptr = (uint64_t)(uintptr_t)&pool->gpu.gpu_id,
			.n_devices = 1};
		size = sizeof a.map;
		break;
	case KFDABI_WAIT_EVENTS:
		a.wait = (struct kfd_ioctl_wait_events_args){.events_ptr = any_address(pool),
							     .num_events = below(dice, 40),
							     .wait_for_all = below(dice, 2),
							     .timeout = below(dice, 20)};
		size = sizeof a.wait;
		break;
	case KFDABI_SET_CU_MASK:
		a.mask = (struct kfd_ioctl_set_cu_mask_args){.queue_id = queue->id,
							     .num_cu_mask = 32 * below(dice, 40),
							     .cu_mask_ptr = any_address(pool)};
		size = sizeof a.mask;
		break;
	case KFDABI_DBG_TRAP:
		a.trap.pid = (uint32_t)pool->others[once_in(dice, 4) ? below(dice, 3) : 2];
		a.trap.op = below(dice, 20);
		for (unsigned i = 1; i < sizeof a.trap / 8; i++) {
			uint64_t value = any_value(pool);

			memcpy((char *)&a.trap + 8 * i, &value, 8);
		}
		size = sizeof a.trap;
		break;
	case KFDABI_RUNTIME_ENABLE:
		a.runtime.r_debug = any_address(pool);
		a.runtime.mode_mask = below(dice, 4);
		size = sizeof a.runtime;
		break;
	case KFDABI_SVM:
		a.svm.start_addr = any_address(pool) & ~4095ull;
		a.svm.size = 4096ull << below(dice, 16);
		a.svm.op = below(dice, 3);
		a.svm.nattr = below(dice, 64);
		size = sizeof a.svm;
		break;
	case KFDABI_EXPORT_DMABUF:
		a.export.handle = area->handle;
		size = sizeof a.export;
		break;
	default:
		break;
	}
	memcpy(to, &a, size);
	return size;
}

/* Returns the address to pass for the struct: inside the page, overlapping the unmapped page behind
 * it, at the start of that page, or any address. */
static char *somewhere(struct pool *pool, char *pages, size_t size)
{
	switch (below(&pool->dice, 12)) {
	case 0:
		return pages + 4096 - below(&pool->dice, (uint32_t)size + 1);
	case 1:
		return (char *)(uintptr_t)any_address(pool);
	case 2:
		return pages + 4096;
	default:
		return pages + 4096 - CELLS * 8;
	}
}

static void call_kfd(struct pool *pool, char *pages)
{
	struct dice *dice = &pool->dice;
	unsigned nr = once_in(dice, 20) ? below(dice, 256) : below(dice, KFDABI_NR_END);
	char *room = pages + 4096 - CELLS * 8;
	uint32_t size;

	for (unsigned i = 0; i < CELLS * 2; i++) {
		uint32_t value = (uint32_t)any_value(pool);

		memcpy(room + 4 * i, &value, 4);
	}
	for (unsigned i = 0; i < CELLS; i += 1 + below(dice, 3)) {
		uint64_t value = any_value(pool);

		memcpy(room + 8 * i, &value, 8);
	}
	size = once_in(dice, 3) ? 0 : (uint32_t)good(pool, nr, room);
	for (unsigned i = below(dice, 3); size && i; i--) {
		uint64_t value = any_value(pool);

		memcpy(room + below(dice, size / 4) * 4, &value, once_in(dice, 2) ? 4 : 8);
	}
	if (!size || once_in(dice, 8))
		size = once_in(dice, 12) ? below(dice, 16384) : 4 * below(dice, 2 * CELLS);
	ioctl(once_in(dice, 30) ? pool->gpu.render : pool->gpu.kfd,
	      _IOC(once_in(dice, 8) ? below(dice, 4) : _IOC_READ | _IOC_WRITE, KFDABI_TYPE, nr,
		   size),
	      somewhere(pool, pages, size < CELLS * 8 ? size : CELLS * 8));
}

static void call_drm(struct pool *pool, char *pages)
{
	struct dice *dice = &pool->dice;
	unsigned nr = once_in(dice, 3) ? below(dice, 256) : DRM_DRIVER + below(dice, 24);
	char *room = pages + 4096 - CELLS * 8;

	for (unsigned i = 0; i < CELLS; i++) {
		uint64_t value = once_in(dice, 2) ? any_value(pool)
						  : any_value(pool) << 32 | below(dice, 40);

		memcpy(room + 8 * i, &value, 8);
	}
	ioctl(once_in(dice, 30) ? pool->gpu.kfd : pool->gpu.render,
	      _IOC(below(dice, 4), DRM_TYPE, nr,
		   once_in(dice, 10) ? below(dice, 16384) : 8 * below(dice, 12)),
	      somewhere(pool, pages, CELLS * 8));
}

static void round_of_calls(struct pool *pool)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED && !munmap(pages + 4096, 4096));
	for (unsigned i = 0; i < CALLS; i++) {
		if (once_in(&pool->dice, 4))
			call_drm(pool, pages);
		else
			call_kfd(pool, pages);
		if (once_in(&pool->dice, 16))
			queue_ring(&pool->queues[0]);
	}
}

int main(int argc, char **argv)
{
	return fuzz(argc, argv, round_of_calls);
}
