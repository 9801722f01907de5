// SPDX-License-Identifier: MIT
/*
 * Buffers: addresses, accounting, and their place in the node's render file,
 * which is where the process maps them from. The file is sparse and freed
 * buffers are punched out of it, so only what was touched costs memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/kfd/files.h"

#define RENDER_BYTES (1ull << 40) /* of address space for each node; 64 must fit */
#define HEAP_START (1ull << 20)
#define BIG_ALIGN (2ull << 20)
#define KFD_SLOT_SHIFT 46

/* GPU virtual addresses and apertures as the driver lays them out on gfx9. */
#define GPUVM_BASE 0x4000ull
#define GPUVM_LIMIT ((1ull << 47) - 1)
#define LDS_BASE (1ull << 48)
#define SCRATCH_BASE (2ull << 48)

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

int heap_init(struct node *node)
{
	if (ftruncate(node->render_fd, (off_t)RENDER_BYTES))
		return -errno;
	node->memory = mmap(NULL, RENDER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			    node->render_fd, 0);
	if (node->memory == MAP_FAILED) {
		node->memory = NULL;
		return -errno;
	}
	node->heap_end = HEAP_START;
	return 0;
}

void heap_done(struct node *node)
{
	if (node->memory)
		munmap(node->memory, RENDER_BYTES);
	free(node->holes);
}

static uint64_t heap_take(struct node *node, uint64_t bytes)
{
	uint64_t align = bytes >= BIG_ALIGN ? BIG_ALIGN : PAGE_BYTES, at;

	for (size_t i = 0; i < node->n_holes; i++) {
		struct extent *hole = &node->holes[i];

		if (hole->bytes < bytes || hole->offset & (align - 1))
			continue;
		at = hole->offset;
		hole->offset += bytes;
		hole->bytes -= bytes;
		if (!hole->bytes)
			*hole = node->holes[--node->n_holes];
		return at;
	}
	at = (node->heap_end + align - 1) & ~(align - 1);
	if (bytes > RENDER_BYTES - at)
		return 0;
	node->heap_end = at + bytes;
	return at;
}

/* Holes are merged with a neighbour where there is one; a hole that cannot be
 * remembered is lost from the (4 TiB) file, not from memory. */
static void heap_give(struct node *node, uint64_t offset, uint64_t bytes)
{
	fallocate(node->render_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		  (off_t)bytes);
	for (size_t i = 0; i < node->n_holes; i++) {
		struct extent *hole = &node->holes[i];

		if (hole->offset + hole->bytes != offset && offset + bytes != hole->offset)
			continue;
		if (hole->offset > offset)
			hole->offset = offset;
		hole->bytes += bytes;
		return;
	}
	if (node->n_holes == node->cap_holes) {
		size_t cap = node->cap_holes ? 2 * node->cap_holes : 64;
		struct extent *more = realloc(node->holes, cap * sizeof *more);

		if (!more)
			return;
		node->holes = more;
		node->cap_holes = cap;
	}
	node->holes[node->n_holes++] = (struct extent){offset, bytes};
}

/* The runtime adds the queue's doorbell to this base and masks the sum widely,
 * so that only the bits below KFD_SLOT_SHIFT may tell doorbells apart; and a
 * file offset cannot have the two top bits that the hardware form has. */
uint64_t doorbell_offset(const struct process *process, uint32_t node)
{
	return (process->slot * process->world->nodes_n + node + 1) << KFD_SLOT_SHIFT;
}

/* The index of the first buffer that ends after va. */
static size_t bo_after(const struct process *process, uint64_t va)
{
	size_t low = 0, high = process->n_bos;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (process->bos[mid].va + process->bos[mid].size > va)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

struct bo *bo_find(const struct process *process, uint64_t va)
{
	size_t i = bo_after(process, va);

	return i < process->n_bos && process->bos[i].va <= va ? &process->bos[i] : NULL;
}

static struct bo *bo_by_handle(const struct process *process, uint64_t handle)
{
	for (size_t i = 0; i < process->n_bos; i++)
		if (process->bos[i].handle == handle)
			return &process->bos[i];
	return NULL;
}

static void bo_give_back(struct process *process, const struct bo *bo)
{
	struct world *world = process->world;
	struct node *node = &world->nodes[bo->node];
	uint64_t bytes = page_up(bo->size);

	if (!bo->backed)
		return;
	heap_give(node, bo->offset, bytes);
	if (bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) {
		node->vram_used -= bytes;
		process->vram[bo->node] -= bytes;
		procfs_vram(process, bo->node);
	} else {
		world->gtt_used -= bytes;
		debugfs_changed(world);
		process->gtt -= bytes;
	}
}

void memory_release(struct process *process)
{
	for (size_t i = 0; i < process->n_bos; i++)
		bo_give_back(process, &process->bos[i]);
	free(process->bos);
	process->bos = NULL;
	process->n_bos = process->cap_bos = 0;
}

int node_index(const struct world *world, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < world->nodes_n; i++)
		if (world->nodes[i].gpu_id == gpu_id)
			return (int)i;
	return -EINVAL;
}

int ioctl_acquire_vm(struct call *call)
{
	struct kfd_ioctl_acquire_vm_args *a = (void *)call->data;
	int node = node_index(call->world, a->gpu_id);

	if (node < 0)
		return node;
	if (!call->process->vm[node])
		smi_process(call->process, (uint32_t)node, true);
	call->process->vm[node] = true;
	call->process->record->open_only = false;
	return 0;
}

static int bo_insert(struct process *process, const struct bo *bo)
{
	size_t at = bo_after(process, bo->va);

	if (at < process->n_bos && process->bos[at].va < bo->va + bo->size)
		return -EINVAL;
	if (process->n_bos == process->cap_bos) {
		size_t cap = process->cap_bos ? 2 * process->cap_bos : 64;
		struct bo *more = realloc(process->bos, cap * sizeof *more);

		if (!more)
			return -ENOMEM;
		process->bos = more;
		process->cap_bos = cap;
	}
	memmove(&process->bos[at + 1], &process->bos[at],
		(process->n_bos - at) * sizeof *process->bos);
	process->bos[at] = *bo;
	process->n_bos++;
	return 0;
}

/* Accounts and places a buffer that has pages of ours. A full tmpfs would be a
 * SIGBUS later, so the limits are ours to keep (ENOMEM, as the driver). */
static int bo_back(struct process *process, struct bo *bo)
{
	struct world *world = process->world;
	struct node *node = &world->nodes[bo->node];
	uint64_t bytes = page_up(bo->size);

	if (bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) {
		if (bytes > world->config.vram_bytes - node->vram_used)
			return -ENOMEM;
	} else if (bytes > world->config.gtt_bytes - world->gtt_used) {
		return -ENOMEM;
	}
	bo->offset = heap_take(node, bytes);
	if (!bo->offset)
		return -ENOMEM;
	bo->backed = true;
	if (bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) {
		node->vram_used += bytes;
		process->vram[bo->node] += bytes;
		procfs_vram(process, bo->node);
	} else {
		world->gtt_used += bytes;
		debugfs_changed(world);
		process->gtt += bytes;
	}
	return 0;
}

int ioctl_alloc_memory(struct call *call)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args *a = (void *)call->data;
	struct process *process = call->process;
	int index = node_index(call->world, a->gpu_id), r;
	struct bo bo = {.va = a->va_addr, .size = a->size, .flags = a->flags};
	uint64_t map_at = a->mmap_offset;

	if (!a->size || a->size > RENDER_BYTES || a->va_addr > GPUVM_LIMIT || index < 0)
		return -EINVAL;
	if (!process->vm[index])
		return -ESRCH;
	bo.node = (uint8_t)index;
	if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) {
		bo.cpu_va = a->mmap_offset;
	} else if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) {
		if (a->size != DOORBELL_PAGE)
			return -EINVAL;
		map_at = doorbell_offset(process, (uint32_t)index);
	} else if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
		if (a->size != PAGE_BYTES)
			return -EINVAL;
		map_at = PAGE_BYTES * ((uint64_t)index + 1);
	} else if (a->flags & (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_GTT)) {
		r = bo_back(process, &bo);
		if (r)
			return r;
		map_at = bo.offset;
	} else {
		return -EINVAL;
	}
	bo.handle = (uint64_t)a->gpu_id << 32 | (process->next_handle & 0xffffffffu);
	r = bo_insert(process, &bo);
	if (r) {
		bo_give_back(process, &bo);
		return r;
	}
	process->next_handle++;
	a->handle = bo.handle;
	a->mmap_offset = map_at;
	return 0;
}

int ioctl_free_memory(struct call *call)
{
	struct kfd_ioctl_free_memory_of_gpu_args *a = (void *)call->data;
	struct process *process = call->process;
	struct bo *bo = bo_by_handle(process, a->handle);

	if (!bo)
		return -EINVAL;
	kernels_forget(process, bo->va, bo->size);
	bo_give_back(process, bo);
	memmove(bo, bo + 1, (size_t)(process->bos + process->n_bos - (bo + 1)) * sizeof *bo);
	process->n_bos--;
	return 0;
}

/* MAP and UNMAP: which GPU sees a buffer is not modelled; the arguments are
 * checked as the driver does. */
int ioctl_map_memory(struct call *call)
{
	struct kfd_ioctl_map_memory_to_gpu_args *a = (void *)call->data;
	uint32_t ids[WORLD_NODES_MAX];

	if (!a->n_devices || a->n_success > a->n_devices || a->n_devices > WORLD_NODES_MAX)
		return -EINVAL;
	if (call_read(call, a->device_ids_array_ptr, ids, a->n_devices * sizeof *ids))
		return -EFAULT;
	if (!bo_by_handle(call->process, a->handle))
		return -EINVAL;
	for (uint32_t i = a->n_success; i < a->n_devices; i++) {
		if (node_index(call->world, ids[i]) < 0)
			return -EINVAL;
		a->n_success = i + 1;
	}
	return 0;
}

int ioctl_available_memory(struct call *call)
{
	struct kfd_ioctl_get_available_memory_args *a = (void *)call->data;
	int node = node_index(call->world, a->gpu_id);

	if (node < 0)
		return node;
	a->available = call->world->config.vram_bytes - call->world->nodes[node].vram_used;
	return 0;
}

int ioctl_apertures(struct call *call)
{
	struct kfd_ioctl_get_process_apertures_new_args *a = (void *)call->data;
	uint32_t room = a->num_of_nodes;

	a->num_of_nodes = call->world->nodes_n;
	for (uint32_t i = 0; i < call->world->nodes_n && i < room; i++) {
		struct kfd_process_device_apertures one = {
			.lds_base = LDS_BASE,
			.lds_limit = LDS_BASE | 0xffffffffu,
			.scratch_base = SCRATCH_BASE,
			.scratch_limit = SCRATCH_BASE | 0xffffffffu,
			.gpuvm_base = GPUVM_BASE,
			.gpuvm_limit = GPUVM_LIMIT,
			.gpu_id = call->world->nodes[i].gpu_id,
		};

		if (call_write(call, a->kfd_process_device_apertures_ptr + i * sizeof one, &one,
			       sizeof one))
			return -EFAULT;
		a->num_of_nodes = i + 1;
	}
	return 0;
}
