// SPDX-License-Identifier: MIT
/*
 * Implements the memory ioctls of the KFD device: buffers by handle, and their mapping on GPUs. The
 * checks and their order are those of kfd_chardev.c and amdgpu_amdkfd_gpuvm.c of Linux 6.12.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "sim/driver/files.h"
#include "sim/driver/memory.h"

#define KFD_SLOT_SHIFT 46
/* number of CPU nodes that sim/sandbox/topology.c writes into the topology */
#define CPU_NODES 1u
#define DEVICES_MAX (1u << 20) /* longest array of gpu_ids that the kernel copies in one piece */

/* GPU virtual addresses and apertures, with the driver's layout on gfx9. */
#define GPUVM_BASE 0x4000ull
#define GPUVM_LIMIT ((1ull << 47) - 1)
#define LDS_BASE (1ull << 48)
#define SCRATCH_BASE (2ull << 48)

#define HANDLE(gpu_id, id) ((uint64_t)(gpu_id) << 32 | (id))

/* Returns an offset that uses only bits from KFD_SLOT_SHIFT on. The runtime adds a queue's doorbell
 * to this offset and applies a wide mask to the sum, so only lower bits are left for the doorbells.
 * The two top bits, which the driver uses as well, do not fit into a file offset. */
uint64_t doorbell_offset(const struct process *process, uint32_t node)
{
	return (process->slot * process->sim->nodes_n + node + 1) << KFD_SLOT_SHIFT;
}

int node_index(const struct sim *sim, uint32_t gpu_id)
{
	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (sim->nodes[i].gpu_id == gpu_id)
			return (int)i;
	return -EINVAL;
}

/* ---- handles ---- */

struct bo *bo_by_handle(const struct process *process, uint64_t handle)
{
	int node = node_index(process->sim, (uint32_t)(handle >> 32));
	uint32_t id = (uint32_t)handle;

	return node >= 0 && id < process->vm[node].n_bos ? process->vm[node].bos[id] : NULL;
}

/* Stores the object under the node's lowest free number, like the driver. Returns 0 or -ENOMEM. */
static int bo_insert(struct process *process, const struct bo *new, struct bo **out)
{
	struct gpu_vm *vm = &process->vm[new->node];
	size_t id = vm->bos_from;
	struct bo *bo;

	while (id < vm->n_bos && vm->bos[id])
		id++;
	if (!rule_holds(process->sim, RULE_memory_handles_lowest_free_first))
		id = vm->n_bos;
	if (ARRAY_GROW(vm->bos, vm->n_bos, id + 1))
		return -ENOMEM;
	bo = malloc(sizeof *bo);
	if (!bo)
		return -ENOMEM;
	*bo = *new;
	bo->handle = HANDLE(process->sim->nodes[new->node].gpu_id, id);
	vm->bos[id] = bo;
	vm->bos_from = id + 1;
	*out = bo;
	return 0;
}

static void bo_unmap(struct process *process, struct bo *bo, uint32_t node)
{
	space_unmap(vm_space(process, node), bo->va, bo->size, bo);
	bo->mapped &= ~(1ull << node);
}

/* Unmaps the object, subtracts its size from the memory counters and frees it. */
static void bo_free(struct process *process, struct bo *bo)
{
	struct gpu_vm *vm = &process->vm[bo->node];
	uint32_t id = (uint32_t)bo->handle;

	for (uint32_t node = 0; bo->mapped; node++)
		if (bo->mapped >> node & 1)
			bo_unmap(process, bo, node);
	kernels_forget(process, bo->va, bo->size);
	if (bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR && !bo->pages)
		system_give(process->sim, page_up(bo->size));
	if (bo->pages && !bo->imported) {
		if (bo->pages->vram)
			process->vram[bo->node] -= bo->pages->bytes;
		else
			process->gtt -= bo->pages->bytes;
		if (bo->pages->vram && !process->dead)
			procfs_vram(process, bo->node);
	}
	pages_unref(bo->pages);
	vm->bos[id] = NULL;
	if (id < vm->bos_from)
		vm->bos_from = id;
	free(bo);
}

void memory_release(struct process *process)
{
	for (uint32_t node = 0; node < process->sim->nodes_n; node++) {
		struct gpu_vm *vm = &process->vm[node];

		for (size_t id = 0; id < vm->n_bos; id++)
			if (vm->bos[id])
				bo_free(process, vm->bos[id]);
		free(vm->bos);
		vm->bos = NULL;
		vm->n_bos = 0;
	}
	for (uint32_t node = 0; node < process->sim->nodes_n; node++) {
		if (process->vm[node].file)
			drm_file_unref(process->vm[node].file);
		process->vm[node].file = NULL;
	}
	svm_release(process);
}

int bo_import(struct process *process, uint32_t node, struct pages *pages, uint64_t va,
	      uint64_t *handle)
{
	struct bo new = {
		.va = va,
		.size = pages->bytes,
		.node = node,
		.flags = pages->vram ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM : KFD_IOC_ALLOC_MEM_FLAGS_GTT,
		.pages = pages,
		.imported = true,
	};
	struct bo *bo;
	int r = bo_insert(process, &new, &bo);

	if (r)
		return r;
	pages_ref(pages);
	*handle = bo->handle;
	return 0;
}

/* ---- ACQUIRE_VM ---- */

int ioctl_acquire_vm(struct call *call)
{
	struct kfd_ioctl_acquire_vm_args *a = (void *)call->data;
	struct process *process = call->process;
	int node = node_index(call->sim, a->gpu_id), r;
	struct drm_file *file;
	struct gpu_vm *vm;

	if (node < 0)
		return -EINVAL;
	r = drm_file_find(call, (int)a->drm_fd, (uint32_t)node, &file);
	if (r == -EBADF)
		return -EINVAL;
	vm = &process->vm[node];
	if (vm->file && !rule_holds(call->sim, RULE_second_vm_file_is_ebusy))
		return 0;
	if (vm->file)
		return !r && vm->file == file ? 0 : -EBUSY;
	if (!r)
		r = drm_file_acquire(file, process);
	if (r)
		return r;
	vm->file = file;
	smi_process(process, (uint32_t)node, true);
	process->record->open_only = false;
	return 0;
}

/* ---- ALLOC_MEMORY_OF_GPU ---- */

/* Returns true if the caller can read the first and the last byte of [address, address + size) in
 * its own memory. */
static bool user_pages(const struct call *call, uint64_t address, uint64_t size)
{
	char byte;

	return !call_read(call, address, &byte, 1) &&
	       !call_read(call, address + size - 1, &byte, 1);
}

/* Allocates VRAM or GTT for the object. */
static int back_own(struct call *call, struct bo *bo)
{
	struct process *process = call->process;
	bool vram = bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM;
	bool aql = bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM;
	int r;

	/* An AQL ring is mapped twice in a row, so that it never wraps. */
	if (aql && bo->size / 2 == 0)
		return -EINVAL;
	r = pages_new(call->sim, bo->node, aql ? bo->size / 2 : bo->size, vram, &bo->pages);
	if (r)
		return r;
	bo->pages->public = !vram || bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
	if (vram)
		process->vram[bo->node] += bo->pages->bytes;
	else
		process->gtt += bo->pages->bytes;
	bo->size = bo->pages->bytes * (aql ? 2 : 1);
	return 0;
}

/* Provides memory of the kind that the object's flags request. If they request several kinds, takes
 * the one that the driver would find first. Sets *@offset for mmap(). Returns 0 or a negative
 * errno. */
static int back(struct call *call, struct bo *bo, uint64_t *offset)
{
	struct sim *sim = call->sim;
	int r;

	if (bo->flags & (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_GTT)) {
		r = back_own(call, bo);
		if (!r)
			*offset = bo->pages->offset;
		return r;
	}
	if (bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) {
		if (!*offset)
			return rule_errno(sim, RULE_userptr_needs_an_address, -EINVAL, -EFAULT);
		r = system_take(sim, page_up(bo->size));
		if (r)
			return r;
		if (!user_pages(call, *offset, bo->size) &&
		    rule_holds(sim, RULE_userptr_without_memory_is_efault)) {
			system_give(sim, page_up(bo->size));
			return -EFAULT;
		}
		bo->cpu_va = *offset;
		return 0;
	}
	if (bo->flags & (KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP))
		return 0;
	return rule_errno(sim, RULE_alloc_needs_a_kind_of_memory, -EINVAL, -ENOMEM);
}

static int check_alloc(struct call *call, int index, uint64_t *offset)
{
	const struct kfd_ioctl_alloc_memory_of_gpu_args *a = (void *)call->data;
	const struct sim *sim = call->sim;

	if (!a->size)
		return rule_errno(sim, RULE_alloc_of_nothing_is_einval, -EINVAL, -ENOMEM);
	if (svm_overlaps(call->process, a) &&
	    rule_holds(sim, RULE_alloc_in_an_svm_range_is_eaddrinuse))
		return -EADDRINUSE;
	if (index < 0)
		return rule_errno(sim, RULE_alloc_on_an_unknown_gpu_is_einval, -EINVAL, -ENODEV);
	if (!call->process->vm[index].file)
		return rule_errno(sim, RULE_alloc_without_vm_is_enodev, -ENODEV, -EINVAL);
	if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) {
		if (a->size != DOORBELL_PAGE && rule_holds(sim, RULE_doorbell_memory_is_two_pages))
			return -EINVAL;
		*offset = doorbell_offset(call->process, (uint32_t)index);
	} else if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
		if (a->size != PAGE_BYTES && rule_holds(sim, RULE_mmio_memory_is_one_page))
			return -EINVAL;
		*offset = PAGE_BYTES * ((uint64_t)index + 1);
	}
	return 0;
}

/* Holds the process's mutex while the caller's own pages are pinned (--set pin_us; wall). Meanwhile
 * every other call of the process waits, and so does DBG_TRAP on it (kfd_ioctl_alloc_memory_of_gpu
 * and kfd_ioctl_set_debug_trap in kfd_chardev.c lock the same p->mutex). Returns 0 if pinning takes
 * no time, else CALL_PENDING; pin_end() then answers the call with 0. */
static int pin_begin(struct call *call)
{
	struct process *process = call->process;
	struct sim *sim = call->sim;
	uint64_t pin_ns = us_ns(sim->config.node.pin_us);

	if (!pin_ns)
		return 0;
	process->pinning = call;
	process->pinned_ns = clock_ns() + pin_ns;
	if (process->pinned_ns < sim->next_pinned_ns)
		sim->next_pinned_ns = process->pinned_ns;
	process_lock(process);
	return CALL_PENDING;
}

static void pin_end(struct process *process)
{
	struct call *call = process->pinning;

	process->pinning = NULL;
	call_reply(call, 0);
	process_unlock(process);
}

void pin_forget(struct process *process)
{
	struct call *call = process->pinning;

	if (!call)
		return;
	process->pinning = NULL;
	call_drop(call);
	process_unref(process); /* reference that process_lock() took */
}

/* Returns a process whose pinning is over at @now_ns, or NULL. Sets *@next to the earliest end of a
 * pinning that is not over (UINT64_MAX: none). */
static struct process *find_due(struct sim *sim, uint64_t now_ns, uint64_t *next)
{
	struct process *process, *due = NULL;

	*next = UINT64_MAX;
	TAILQ_FOREACH(process, &sim->processes, link)
	{
		if (!process->pinning)
			continue;
		if (process->pinned_ns <= now_ns)
			due = process;
		else if (process->pinned_ns < *next)
			*next = process->pinned_ns;
	}
	return due;
}

void pins_expire(struct sim *sim, uint64_t now_ns)
{
	struct process *process;

	/* The end of one pinning may start another one, by a call that waited for the mutex. */
	while ((process = find_due(sim, now_ns, &sim->next_pinned_ns)) != NULL)
		pin_end(process);
}

int ioctl_alloc_memory(struct call *call)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args *a = (void *)call->data;
	struct process *process = call->process;
	int index = node_index(call->sim, a->gpu_id), r;
	struct bo new = {.va = a->va_addr, .size = a->size, .flags = a->flags}, *bo;
	uint64_t offset = a->mmap_offset;

	r = check_alloc(call, index, &offset);
	if (r)
		return r;
	new.node = (uint32_t)index;
	r = back(call, &new, &offset);
	if (r)
		return r;
	r = bo_insert(process, &new, &bo);
	if (r) {
		pages_unref(new.pages);
		return r;
	}
	if (new.pages &&new.pages->vram)
		procfs_vram(process, bo->node);
	a->handle = bo->handle;
	a->mmap_offset = offset;
	return bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR ? pin_begin(call) : 0;
}

int ioctl_free_memory(struct call *call)
{
	struct kfd_ioctl_free_memory_of_gpu_args *a = (void *)call->data;
	struct process *process = call->process;
	const struct sim *sim = call->sim;
	struct bo *bo = bo_by_handle(process, a->handle);

	if (process->event_page && process->event_page == a->handle &&
	    rule_holds(sim, RULE_event_page_cannot_be_freed))
		return -EPERM;
	if (!bo)
		return rule_errno(sim, RULE_free_of_an_unknown_handle_is_einval, -EINVAL, 0);
	if (bo->mapped && rule_holds(sim, RULE_free_of_a_mapped_buffer_is_ebusy))
		return -EBUSY;
	bo_free(process, bo);
	return 0;
}

/* ---- MAP_MEMORY_TO_GPU, UNMAP_MEMORY_FROM_GPU ---- */

static int bo_map(struct process *process, struct bo *bo, uint32_t node)
{
	bool aql = bo->pages && bo->size > bo->pages->bytes;
	struct mapping mapping = {
		.va = bo->va,
		.size = bo->pages ? bo->pages->bytes : page_up(bo->size),
		.pages = bo->pages,
		.doorbells = bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL
				     ? (char *)(uintptr_t)process->doorbells[bo->node]
				     : NULL,
		.cpu_va = bo->cpu_va,
		.owner = bo,
	};
	struct space *space = vm_space(process, node);
	int r;

	if (bo->mapped >> node & 1)
		return 0;
	r = space_map(space, &mapping);
	if (r == -EINVAL && bo->va && !rule_holds(process->sim, RULE_map_over_another_is_einval))
		r = 0;
	if (r)
		return r;
	mapping.va += mapping.size;
	if (aql && space_map(space, &mapping)) {
		space_unmap(space, bo->va, bo->size, bo);
		return -EINVAL;
	}
	bo->mapped |= 1ull << node;
	return 0;
}

static int one_device(struct call *call, struct bo *bo, uint32_t gpu_id, bool map)
{
	struct process *process = call->process;
	int node = node_index(call->sim, gpu_id);

	if (node < 0)
		return -EINVAL;
	if (map && !process->vm[node].file)
		return -ENODEV;
	if (map)
		return bo_map(process, bo, (uint32_t)node);
	if (!(bo->mapped >> node & 1))
		return rule_errno(call->sim, RULE_unmap_of_what_is_not_mapped_is_einval, -EINVAL,
				  0);
	if (!rule_holds(call->sim, RULE_unmapped_buffer_faults))
		return 0;
	kernels_forget(process, bo->va, bo->size);
	bo_unmap(process, bo, (uint32_t)node);
	return 0;
}

/* Serves MAP_MEMORY_TO_GPU and UNMAP_MEMORY_FROM_GPU, which have the same argument struct. */
static int map_or_unmap(struct call *call, bool map)
{
	struct kfd_ioctl_map_memory_to_gpu_args *a = (void *)call->data;
	const struct sim *sim = call->sim;
	int home = node_index(sim, (uint32_t)(a->handle >> 32)), r = 0;
	struct bo *bo = bo_by_handle(call->process, a->handle);
	uint32_t *ids;

	if (!a->n_devices && rule_holds(sim, RULE_map_to_no_gpu_is_einval))
		return -EINVAL;
	if (a->n_success > a->n_devices)
		return rule_errno(sim, RULE_map_n_success_beyond_n_is_einval, -EINVAL, 0);
	if (a->n_devices > DEVICES_MAX)
		return -ENOMEM;
	ids = malloc((a->n_devices + 1) * sizeof *ids);
	if (!ids)
		return -ENOMEM;
	if (call_read(call, a->device_ids_array_ptr, ids, a->n_devices * sizeof *ids))
		r = rule_errno(sim, RULE_map_with_a_bad_array_is_efault, -EFAULT, -EINVAL);
	else if (home < 0)
		r = -EINVAL;
	else if (map && !call->process->vm[home].file)
		r = -ENODEV;
	else if (!bo)
		r = rule_errno(sim, RULE_map_of_an_unknown_handle_is_enomem, -ENOMEM, -EINVAL);
	for (uint32_t i = a->n_success; i < a->n_devices && !r; i++) {
		r = one_device(call, bo, ids[i], map);
		if (!r && rule_holds(sim, RULE_map_tells_how_many_succeeded))
			a->n_success = i + 1;
	}
	free(ids);
	return r;
}

int ioctl_map_memory(struct call *call)
{
	return map_or_unmap(call, true);
}

int ioctl_unmap_memory(struct call *call)
{
	return map_or_unmap(call, false);
}

/* ---- queries ---- */

int ioctl_available_memory(struct call *call)
{
	struct kfd_ioctl_get_available_memory_args *a = (void *)call->data;
	int node = node_index(call->sim, a->gpu_id);

	if (node < 0)
		return node;
	a->available = vram_available(call->sim, (uint32_t)node);
	return 0;
}

void memory_apertures(struct kfd_process_device_apertures *out)
{
	*out = (struct kfd_process_device_apertures){
		.lds_base = LDS_BASE,
		.lds_limit = LDS_BASE | 0xffffffffu,
		.scratch_base = SCRATCH_BASE,
		.scratch_limit = SCRATCH_BASE | 0xffffffffu,
		.gpuvm_base = GPUVM_BASE,
		.gpuvm_limit = GPUVM_LIMIT,
	};
}

int ioctl_apertures(struct call *call)
{
	struct kfd_ioctl_get_process_apertures_new_args *a = (void *)call->data;
	const struct sim *sim = call->sim;
	struct kfd_process_device_apertures one;
	uint32_t room = a->num_of_nodes;

	if (!room) {
		if (rule_holds(sim, RULE_apertures_probe_tells_the_count))
			a->num_of_nodes = sim->nodes_n;
		return 0;
	}
	if (room > sim->nodes_n + CPU_NODES)
		return -EINVAL;
	a->num_of_nodes = room < sim->nodes_n ? room : sim->nodes_n;
	for (uint32_t i = 0; i < a->num_of_nodes; i++) {
		memory_apertures(&one);
		one.gpu_id = sim->nodes[i].gpu_id;
		if (call_write(call, a->kfd_process_device_apertures_ptr + i * sizeof one, &one,
			       sizeof one))
			return -EFAULT;
	}
	return 0;
}

/* Returns the first seven GPUs in the argument struct itself, as before KFD 1.1. */
int ioctl_apertures_old(struct call *call)
{
	struct kfd_ioctl_get_process_apertures_args *a = (void *)call->data;
	const struct sim *sim = call->sim;

	a->num_of_nodes = 0;
	for (uint32_t i = 0; i < sim->nodes_n && i < NUM_OF_SUPPORTED_GPUS; i++) {
		memory_apertures(&a->process_apertures[i]);
		a->process_apertures[i].gpu_id = sim->nodes[i].gpu_id;
		a->num_of_nodes++;
	}
	return 0;
}
