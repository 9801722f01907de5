// SPDX-License-Identifier: MIT
/*
 * What the GPU does to memory. A GPU address lies in a buffer of the process:
 * either one of ours, whose pages we have mapped (the render file), or the
 * process's own memory (USERPTR), which is reached through the kernel. An
 * address outside every buffer is -EFAULT, as it is a page fault on hardware
 * without retry.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "sim/kfd/kfd.h"

struct place {
	char *direct;  /* NULL: not ours */
	uint64_t cpu;  /* in the process, if direct is NULL */
	uint64_t room; /* bytes from here to the buffer's end */
};

static int find_place(const struct process *process, uint64_t va, struct place *place)
{
	const struct bo *bo = bo_find(process, va);

	if (!bo)
		return -EFAULT;
	place->room = bo->va + bo->size - va;
	place->direct = NULL;
	if (bo->backed) {
		place->direct = process->world->nodes[bo->node].memory + bo->offset + (va - bo->va);
		return 0;
	}
	if (!(bo->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR))
		return -EFAULT;
	place->cpu = bo->cpu_va + (va - bo->va);
	return 0;
}

void *access_direct(const struct process *process, uint64_t va, uint64_t bytes)
{
	struct place place;

	if (find_place(process, va, &place) || !place.direct || place.room < bytes)
		return NULL;
	return place.direct;
}

static int remote(const struct process *process, uint64_t cpu, void *local, size_t n, bool write)
{
	struct iovec l = {local, n}, r = {(void *)(uintptr_t)cpu, n};
	ssize_t done = write ? process_vm_writev(process->pid, &l, 1, &r, 1, 0)
			     : process_vm_readv(process->pid, &l, 1, &r, 1, 0);

	return done == (ssize_t)n ? 0 : -EFAULT;
}

static int transfer(const struct process *process, uint64_t va, void *local, size_t n, bool write)
{
	char *at = local;

	while (n) {
		struct place place;
		size_t part;
		int r = find_place(process, va, &place);

		if (r)
			return r;
		part = place.room < n ? (size_t)place.room : n;
		if (!place.direct) {
			r = remote(process, place.cpu, at, part, write);
			if (r)
				return r;
		} else if (write) {
			memcpy(place.direct, at, part);
		} else {
			memcpy(at, place.direct, part);
		}
		va += part;
		at += part;
		n -= part;
	}
	return 0;
}

int access_read(const struct process *process, uint64_t va, void *to, size_t n)
{
	return transfer(process, va, to, n, false);
}

int access_write(const struct process *process, uint64_t va, const void *from, size_t n)
{
	return transfer(process, va, (void *)(uintptr_t)from, n, true);
}

/* Memory that only the kernel can reach for us cannot be updated atomically;
 * the report says how often that was so. */
int access_add64(struct process *process, uint64_t va, int64_t value)
{
	int64_t *direct = access_direct(process, va, sizeof *direct), old;
	int r;

	if (direct && !((uintptr_t)direct & 7)) {
		__atomic_fetch_add(direct, value, __ATOMIC_ACQ_REL);
		return 0;
	}
	r = access_read(process, va, &old, sizeof old);
	if (r)
		return r;
	process->world->plain_updates++;
	old += value;
	return access_write(process, va, &old, sizeof old);
}

int access_add32(struct process *process, uint64_t va, uint32_t value)
{
	uint32_t *direct = access_direct(process, va, sizeof *direct), old;
	int r;

	if (direct && !((uintptr_t)direct & 3)) {
		__atomic_fetch_add(direct, value, __ATOMIC_ACQ_REL);
		return 0;
	}
	r = access_read(process, va, &old, sizeof old);
	if (r)
		return r;
	process->world->plain_updates++;
	old += value;
	return access_write(process, va, &old, sizeof old);
}

int access_copy(const struct process *process, uint64_t dst, uint64_t src, uint64_t bytes)
{
	static char between[65536];

	while (bytes) {
		struct place d, s;
		uint64_t part = bytes;
		int r = find_place(process, dst, &d);

		if (!r)
			r = find_place(process, src, &s);
		if (r)
			return r;
		if (part > d.room)
			part = d.room;
		if (part > s.room)
			part = s.room;
		if (d.direct && s.direct) {
			memmove(d.direct, s.direct, part);
		} else if (d.direct) {
			r = remote(process, s.cpu, d.direct, part, false);
		} else if (s.direct) {
			r = remote(process, d.cpu, s.direct, part, true);
		} else {
			if (part > sizeof between)
				part = sizeof between;
			r = remote(process, s.cpu, between, part, false);
			if (!r)
				r = remote(process, d.cpu, between, part, true);
		}
		if (r)
			return r;
		dst += part;
		src += part;
		bytes -= part;
	}
	return 0;
}

int access_fill(const struct process *process, uint64_t dst, uint64_t bytes, const void *pattern,
		size_t pattern_bytes)
{
	char block[16384];
	size_t whole = sizeof block / pattern_bytes * pattern_bytes;

	for (size_t i = 0; i < whole; i += pattern_bytes)
		memcpy(block + i, pattern, pattern_bytes);
	while (bytes) {
		size_t part = bytes < whole ? (size_t)bytes : whole;
		int r = access_write(process, dst, block, part);

		if (r)
			return r;
		dst += part;
		bytes -= part;
	}
	return 0;
}
