// SPDX-License-Identifier: MIT
/* Implements a GPU's page table: a sorted list of address ranges and what each range maps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "sim/driver/memory.h"
#include "sim/driver/queue.h"

#define VA_LIMIT (1ull << 47) /* addresses of the upper half are not simulated */

/* Returns the index of the first range that ends after @va. */
static size_t after(const struct space *space, uint64_t va)
{
	size_t low = 0, high = space->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (space->maps[mid].va + space->maps[mid].size > va)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static int reserve(struct space *space)
{
	return ARRAY_GROW(space->maps, space->cap, space->n + 1);
}

static void insert(struct space *space, size_t at, const struct mapping *mapping)
{
	memmove(&space->maps[at + 1], &space->maps[at], (space->n - at) * sizeof *space->maps);
	space->maps[at] = *mapping;
	space->n++;
}

static void drop(struct space *space, size_t at)
{
	memmove(&space->maps[at], &space->maps[at + 1], (space->n - at - 1) * sizeof *space->maps);
	space->n--;
}

int space_map(struct space *space, const struct mapping *mapping)
{
	uint64_t end = mapping->va + mapping->size;
	size_t at = after(space, mapping->va);

	if (!mapping->va || !mapping->size || mapping->va % PAGE_BYTES ||
	    mapping->size % PAGE_BYTES || end < mapping->va || end > VA_LIMIT)
		return -EINVAL;
	if (at < space->n && space->maps[at].va < end)
		return -EINVAL;
	if (reserve(space))
		return -ENOMEM;
	insert(space, at, mapping);
	return 0;
}

void space_unmap(struct space *space, uint64_t va, uint64_t size, const void *owner)
{
	size_t at = after(space, va);

	while (at < space->n && space->maps[at].va < va + size)
		if (space->maps[at].owner == owner)
			drop(space, at);
		else
			at++;
}

void space_unmap_all(struct space *space, const void *owner)
{
	size_t n_valid = 0;

	for (size_t i = 0; i < space->n; i++)
		if (space->maps[i].owner != owner)
			space->maps[n_valid++] = space->maps[i];
	space->n = n_valid;
}

static void cut_front(struct mapping *mapping, uint64_t bytes)
{
	mapping->va += bytes;
	mapping->size -= bytes;
	mapping->offset += bytes;
	if (mapping->cpu_va)
		mapping->cpu_va += bytes;
}

int space_clear(struct space *space, uint64_t va, uint64_t size)
{
	uint64_t end = va + size;
	size_t at = after(space, va);

	if (reserve(space))
		return -ENOMEM;
	while (at < space->n && space->maps[at].va < end) {
		struct mapping *mapping = &space->maps[at], rest = *mapping;
		uint64_t last = mapping->va + mapping->size;

		if (mapping->va < va) {
			mapping->size = va - mapping->va;
			at++;
			if (last > end) {
				cut_front(&rest, end - rest.va);
				insert(space, at, &rest);
			}
		} else if (last > end) {
			cut_front(mapping, end - mapping->va);
		} else {
			drop(space, at);
			continue;
		}
		if (last >= end)
			break;
	}
	return 0;
}

const struct mapping *space_find(const struct space *space, uint64_t va)
{
	size_t i = after(space, va);

	return i < space->n && space->maps[i].va <= va ? &space->maps[i] : NULL;
}

bool space_touches(const struct space *space, uint64_t start, uint64_t end)
{
	size_t i = after(space, start);

	return i < space->n && space->maps[i].va < end;
}

void space_free(struct space *space)
{
	free(space->maps);
	*space = (struct space){0};
}

const struct mapping *memory_find(const struct process *process, uint32_t node, uint64_t va)
{
	const struct sim *sim = process->sim;
	const struct mapping *found = NULL;
	bool any = node == NODE_ANY || !rule_holds(sim, RULE_buffer_is_seen_where_it_is_mapped);

	for (uint32_t i = any ? 0 : node; i < sim->nodes_n && !found; i++) {
		const struct space *space = vm_space(process, i);

		found = space ? space_find(space, va) : NULL;
		if (!any)
			break;
	}
	return found;
}
