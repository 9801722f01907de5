// SPDX-License-Identifier: MIT
/*
 * Implements shared virtual memory (SVM): attributes of address ranges of the process's own memory
 * (kfd_svm.c of Linux 6.12). Nothing migrates here: a range that a GPU is allowed to access is read
 * and written in place.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "sim/driver/memory.h"
#include "sim/driver/queue.h"

#define DEFAULT_GRANULARITY 9u /* log2 of pages: 2 MiB */
#define GRANULARITY_MAX 0x3fu

struct svm_range {
	uint64_t start, end;
	uint32_t preferred, prefetch, flags, granularity;
	uint64_t access, in_place; /* masks of nodes */
};

/* Returns a range with the driver's default attributes. */
static struct svm_range fresh(uint64_t start, uint64_t end)
{
	return (struct svm_range){
		.start = start,
		.end = end,
		.preferred = KFD_IOCTL_SVM_LOCATION_UNDEFINED,
		.prefetch = KFD_IOCTL_SVM_LOCATION_UNDEFINED,
		.flags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT,
		.granularity = DEFAULT_GRANULARITY,
	};
}

/* Returns the index of the first range that ends after the address. */
static size_t after(const struct svm *svm, uint64_t address)
{
	size_t i = 0;

	while (i < svm->n && svm->ranges[i].end <= address)
		i++;
	return i;
}

static int insert(struct svm *svm, size_t at, const struct svm_range *range)
{
	if (ARRAY_GROW(svm->ranges, svm->cap, svm->n + 1))
		return -ENOMEM;
	memmove(&svm->ranges[at + 1], &svm->ranges[at], (svm->n - at) * sizeof *range);
	svm->ranges[at] = *range;
	svm->n++;
	return 0;
}

/* Splits a range at the address, so that one begins there. Returns 0 or -ENOMEM. */
static int split(struct svm *svm, uint64_t address)
{
	size_t i = after(svm, address);
	struct svm_range rest;

	if (i >= svm->n || svm->ranges[i].start >= address)
		return 0;
	rest = svm->ranges[i];
	rest.start = address;
	svm->ranges[i].end = address;
	return insert(svm, i + 1, &rest);
}

/* Creates ranges with default attributes for all pages of [start, end) that are in no range. */
static int fill(struct svm *svm, uint64_t start, uint64_t end)
{
	int r = split(svm, start);

	if (!r)
		r = split(svm, end);
	while (!r && start < end) {
		size_t i = after(svm, start);
		const struct svm_range *next = i < svm->n ? &svm->ranges[i] : NULL;
		uint64_t to = next && next->start < end ? next->start : end;

		if (next && next->start <= start) {
			start = next->end;
		} else {
			struct svm_range new = fresh(start, to);

			r = insert(svm, i, &new);
			start = to;
		}
	}
	return r;
}

/* Returns true if all of [start, end) is mapped in the process, accessible and not a mapping of a
 * device. */
static bool is_memory(const struct process *process, uint64_t start, uint64_t end)
{
	char path[40], line[512], may[5];
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%d/maps", process->pid);
	maps = fopen(path, "re");
	while (maps && start < end && fgets(line, sizeof line, maps)) {
		uint64_t from, to;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &to, may) != 3 ||
		    to <= start)
			continue;
		if (from > start || !strncmp(may, "---", 3) || strstr(line, "/dev/dri/") ||
		    strstr(line, "/dev/kfd"))
			break;
		start = to;
	}
	if (maps)
		fclose(maps);
	return start >= end;
}

/* Returns -EADDRINUSE if a buffer is mapped in [start, end) on a GPU, else 0. */
static int no_buffer(const struct process *process, uint64_t start, uint64_t end)
{
	const struct sim *sim = process->sim;

	for (uint32_t i = 0; i < sim->nodes_n; i++) {
		const struct space *space = vm_space(process, i);

		if (space && space_touches(space, start, end))
			return -EADDRINUSE;
	}
	return 0;
}

/* Checks the attributes of a call. Returns 0 or -EINVAL. */
static int check(const struct call *call, const struct kfd_ioctl_svm_args *a)
{
	for (uint32_t i = 0; i < a->nattr; i++) {
		uint32_t value = a->attrs[i].value;
		bool gpu = false;

		switch (a->attrs[i].type) {
		case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
			gpu = value != KFD_IOCTL_SVM_LOCATION_SYSMEM &&
			      value != KFD_IOCTL_SVM_LOCATION_UNDEFINED;
			break;
		case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
			gpu = value != KFD_IOCTL_SVM_LOCATION_SYSMEM;
			break;
		case KFD_IOCTL_SVM_ATTR_ACCESS:
		case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
		case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
			gpu = true;
			break;
		case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
		case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
		case KFD_IOCTL_SVM_ATTR_GRANULARITY:
			break;
		default:
			if (!rule_holds(call->sim, RULE_svm_unknown_attribute_is_einval))
				break;
			return -EINVAL;
		}
		if (gpu && node_index(call->sim, value) < 0)
			return -EINVAL;
	}
	return 0;
}

/* Changes a range by one attribute, which check() has accepted. */
static void apply(const struct sim *sim, struct svm_range *range,
		  const struct kfd_ioctl_svm_attribute *attr)
{
	uint64_t bit = 0;

	switch (attr->type) {
	case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
		range->preferred = attr->value;
		break;
	case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
		range->prefetch = attr->value;
		break;
	case KFD_IOCTL_SVM_ATTR_ACCESS:
	case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
	case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
		bit = 1ull << node_index(sim, attr->value);
		range->access &= ~bit;
		range->in_place &= ~bit;
		if (attr->type == KFD_IOCTL_SVM_ATTR_ACCESS)
			range->access |= bit;
		else if (attr->type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE)
			range->in_place |= bit;
		break;
	case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
		range->flags |= attr->value;
		break;
	case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
		range->flags &= ~attr->value;
		break;
	case KFD_IOCTL_SVM_ATTR_GRANULARITY:
		range->granularity = attr->value < GRANULARITY_MAX ? attr->value : GRANULARITY_MAX;
		break;
	}
}

static bool any_vm(const struct process *process)
{
	for (uint32_t i = 0; i < process->sim->nodes_n; i++)
		if (process->vm[i].file)
			return true;
	return false;
}

/* SVM_OP_SET_ATTR: sets attributes of a range. Returns 0; -EINVAL: bad attribute, or no ACQUIRE_VM;
 * -EOVERFLOW; -EFAULT: no memory there; -EADDRINUSE: a buffer is mapped there; -ENOMEM. */
static int set(struct call *call, const struct kfd_ioctl_svm_args *a)
{
	struct process *process = call->process;
	struct svm *svm = &process->svm;
	uint64_t end = a->start_addr + a->size;
	int r = check(call, a);

	if (r)
		return r;
	if (!any_vm(process))
		return -EINVAL;
	if (end < a->start_addr)
		return -EOVERFLOW;
	if (!is_memory(call->process, a->start_addr, end) &&
	    rule_holds(call->sim, RULE_svm_without_memory_is_efault))
		return -EFAULT;
	r = no_buffer(process, a->start_addr, end);
	if (!r && rule_holds(call->sim, RULE_svm_attributes_persist))
		r = fill(svm, a->start_addr, end);
	if (r)
		return r;
	for (size_t i = after(svm, a->start_addr); i < svm->n && svm->ranges[i].start < end; i++)
		for (uint32_t k = 0; k < a->nattr; k++)
			apply(call->sim, &svm->ranges[i], &a->attrs[k]);
	return 0;
}

/* Merges the attributes of @range into *@all. Locations that differ become undefined, access masks
 * are intersected, and the smaller granularity is kept. */
static void merge(struct svm_range *all, const struct svm_range *range, bool first)
{
	if (first) {
		*all = *range;
		return;
	}
	if (all->preferred != range->preferred)
		all->preferred = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
	if (all->prefetch != range->prefetch)
		all->prefetch = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
	all->access &= range->access;
	all->in_place &= range->in_place;
	if (range->granularity < all->granularity)
		all->granularity = range->granularity;
}

/* Answers one attribute of the call from @all (all ranges merged). Returns 0 or -EINVAL. */
static int reply(const struct sim *sim, const struct svm_range *all, uint32_t flags_or,
		 struct kfd_ioctl_svm_attribute *attr)
{
	int node;

	switch (attr->type) {
	case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
		attr->value = all->preferred;
		return 0;
	case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
		attr->value = all->prefetch;
		return 0;
	case KFD_IOCTL_SVM_ATTR_ACCESS:
		node = node_index(sim, attr->value);
		if (node < 0)
			return -EINVAL;
		attr->type = all->access >> node & 1	 ? KFD_IOCTL_SVM_ATTR_ACCESS
			     : all->in_place >> node & 1 ? KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE
							 : KFD_IOCTL_SVM_ATTR_NO_ACCESS;
		return 0;
	case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
		attr->value = all->flags;
		return 0;
	case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
		attr->value = ~flags_or;
		return 0;
	case KFD_IOCTL_SVM_ATTR_GRANULARITY:
		attr->value = all->granularity;
		return 0;
	default:
		return -EINVAL;
	}
}

/* SVM_OP_GET_ATTR: returns the attributes that all ranges of the given addresses have in common.
 * Returns 0, -EFAULT or -EINVAL. */
static int get(struct call *call, struct kfd_ioctl_svm_args *a)
{
	const struct process *process = call->process;
	const struct svm *svm = &process->svm;
	uint64_t end = a->start_addr + a->size;
	struct svm_range all = fresh(a->start_addr, end);
	uint32_t flags_and = all.flags, flags_or = all.flags;
	bool first = true;
	int r = 0;

	if (!is_memory(call->process, a->start_addr, end))
		return -EFAULT;
	if (process->xnack > 0)
		all.access = UINT64_MAX;
	for (size_t i = after(svm, a->start_addr); i < svm->n && svm->ranges[i].start < end; i++) {
		const struct svm_range *range = &svm->ranges[i];

		flags_and = first ? range->flags : flags_and & range->flags;
		flags_or = first ? range->flags : flags_or | range->flags;
		merge(&all, range, first);
		first = false;
	}
	all.flags = flags_and;
	for (uint32_t i = 0; i < a->nattr && !r; i++)
		r = reply(call->sim, &all, flags_or, &a->attrs[i]);
	return r;
}

/*
 * Removes [start, end) from the ranges; with @unmapped_only, only ranges without memory. The driver
 * is notified when a range's memory is unmapped, and forgets the range. Here the unmap is only
 * detected when the addresses are used again. By then they may be reserved (mapped without any
 * access), as runtimes do before they allocate there.
 */
static void forget(struct process *process, uint64_t start, uint64_t end, bool unmapped_only)
{
	struct svm *svm = &process->svm;
	size_t i = after(svm, start);

	if (i >= svm->n || svm->ranges[i].start >= end || split(svm, start) || split(svm, end))
		return;
	i = after(svm, start);
	while (i < svm->n && svm->ranges[i].start < end) {
		if (unmapped_only && is_memory(process, svm->ranges[i].start, svm->ranges[i].end)) {
			i++;
			continue;
		}
		svm->n--;
		memmove(&svm->ranges[i], &svm->ranges[i + 1], (svm->n - i) * sizeof svm->ranges[0]);
	}
}

void svm_get(struct process *process)
{
	uint64_t from, to, end = 0;
	char path[40], line[512];
	FILE *maps;

	if (!process->svm.n || !rule_holds(process->sim, RULE_svm_attributes_end_with_the_memory))
		return;
	snprintf(path, sizeof path, "/proc/%d/maps", process->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof line, maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2) {
			forget(process, end, from, false);
			end = to;
		}
	if (!maps)
		return;
	if (end)
		forget(process, end, UINT64_MAX, false);
	fclose(maps);
}

int ioctl_svm(struct call *call)
{
	struct kfd_ioctl_svm_args *a = (void *)call->data;

	if (call->user_size < sizeof *a + (uint64_t)a->nattr * sizeof a->attrs[0])
		return -EINVAL;
	if ((a->start_addr | a->size) % PAGE_BYTES &&
	    rule_holds(call->sim, RULE_svm_in_whole_pages_only))
		return -EINVAL;
	if (!a->start_addr || !a->size)
		return -EINVAL;
	if (a->op == KFD_IOCTL_SVM_OP_SET_ATTR)
		return set(call, a);
	return a->op == KFD_IOCTL_SVM_OP_GET_ATTR ? get(call, a) : -EINVAL;
}

/* SET_XNACK_MODE: sets or gets the mode of retry faults. Of the simulated GPU types only 9.4.2 and
 * later can choose it per process. */
int ioctl_set_xnack_mode(struct call *call)
{
	struct kfd_ioctl_set_xnack_mode_args *a = (void *)call->data;
	struct process *process = call->process;
	uint32_t chip = call->sim->config.node.gfx_target_version;

	if (a->xnack_enabled < 0) {
		a->xnack_enabled = process->xnack;
		return 0;
	}
	if (!TAILQ_EMPTY(&process->queues) &&
	    rule_holds(call->sim, RULE_xnack_mode_with_queues_is_ebusy))
		return -EBUSY;
	if (a->xnack_enabled && !(chip >= 90010 && chip < 100000))
		return -EPERM;
	process->xnack = a->xnack_enabled;
	return 0;
}

bool svm_overlaps(struct process *process, const struct kfd_ioctl_alloc_memory_of_gpu_args *a)
{
	bool user = a->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR;
	const struct svm *svm = &process->svm;
	size_t i, k;

	forget(process, a->va_addr, a->va_addr + a->size, true);
	if (user)
		forget(process, a->mmap_offset, a->mmap_offset + a->size, true);
	i = after(svm, a->va_addr);
	k = after(svm, a->mmap_offset);
	if (!(!a->va_addr && a->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) && i < svm->n &&
	    svm->ranges[i].start < a->va_addr + a->size)
		return true;
	return user && k < svm->n && svm->ranges[k].start < a->mmap_offset + a->size;
}

bool svm_covers(const struct process *process, uint32_t node, uint64_t va, uint64_t size)
{
	const struct svm *svm = &process->svm;
	uint64_t at = va, end = va + size;

	for (size_t i = after(svm, va); at < end && i < svm->n; i++) {
		const struct svm_range *range = &svm->ranges[i];
		uint64_t may = range->access | range->in_place;

		if (range->start > at)
			return false;
		if (!process->xnack && node != NODE_ANY && !(may >> node & 1))
			return false;
		at = range->end;
	}
	return at >= end;
}

void svm_release(struct process *process)
{
	free(process->svm.ranges);
	process->svm = (struct svm){0};
}
