// SPDX-License-Identifier: MIT
/*
 * Finds out what a dispatched kernel is. Kernels are timed, not executed, except those whose effect
 * a program needs for correct results: the copy and fill kernels of the runtimes, and kfdreplay's
 * counting kernel.
 *
 * The copy and fill kernels of ROCr are in no code object. Each is recognised by its arguments,
 * which repeat the grid size and contain ranges of equal length. Those of HIP are in a code object
 * (blit_kernels.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "sim/driver/queue.h"

#define SPIN_NAME "kfdreplay_spin"
#define NS_PER_TICK 10u /* period of the 100 MHz counter that the kernel spins on */
/* Limits of a kernel's arguments, so that its time cannot overflow even with hostile values. */
#define TICKS_MAX (1ull << 50)
#define BYTES_MAX (1ull << 47)

/* One kernel of a process. */
struct kernel {
	uint64_t object; /* 0: entry is free */
	uint32_t record; /* index in world.kernels */
	bool named, spin;
	enum blit blit;
	bool logged; /* the missing effect was logged */
};

struct kernel_map {
	struct process *process;
	struct kernel *slots; /* hash table with open addressing; the size is a power of two */
	size_t size, used;
	uint64_t *loaded; /* load addresses of the code objects that were read */
	size_t n_loaded, cap_loaded;
	uint64_t r_debug;
};

/* Returns the entry of this kernel object, or the free entry where it belongs. */
static struct kernel *slot_of(const struct kernel_map *map, uint64_t object)
{
	size_t at = (size_t)(object * 0x9e3779b97f4a7c15ull >> 20) & (map->size - 1);

	while (map->slots[at].object && map->slots[at].object != object)
		at = (at + 1) & (map->size - 1);
	return &map->slots[at];
}

static int grow(struct kernel_map *map)
{
	size_t old_size = map->size, size = old_size ? 2 * old_size : 256;
	struct kernel *old = map->slots, *slots = calloc(size, sizeof *slots);

	if (!slots)
		return -ENOMEM;
	map->slots = slots;
	map->size = size;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].object)
			*slot_of(map, old[i].object) = old[i];
	free(old);
	return 0;
}

static struct kernel *insert(struct kernel_map *map, uint64_t object)
{
	struct kernel *kernel;

	if (map->used * 2 >= map->size && grow(map))
		return NULL;
	kernel = slot_of(map, object);
	if (!kernel->object)
		map->used++;
	kernel->object = object;
	return kernel;
}

/* Returns true if the code object at this address was read already, and records it otherwise. */
static bool loaded_before(void *arg, uint64_t load_address)
{
	struct kernel_map *map = arg;

	for (size_t i = 0; i < map->n_loaded; i++)
		if (map->loaded[i] == load_address)
			return true;
	/* If there is no memory, the code object is read again later: slower, but correct. */
	if (!ARRAY_GROW(map->loaded, map->cap_loaded, map->n_loaded + 1))
		map->loaded[map->n_loaded++] = load_address;
	return false;
}

static void found_kernel(void *arg, uint64_t object, const char *name)
{
	struct kernel_map *map = arg;
	struct kernel *kernel = object ? insert(map, object) : NULL;

	if (!kernel)
		return;
	kernel->named = true;
	kernel->spin = !strcmp(name, SPIN_NAME);
	kernel->blit = blit_of_name(name);
	kernel->record = report_kernel_index(
		map->process->sim, name,
		kernel->spin || (kernel->blit != BLIT_NONE && kernel->blit != BLIT_UNKNOWN));
}

/* Returns the kernel at this address. If it is unknown, reads the code objects that were loaded
 * since the last call; a kernel that is in none of them is unnamed. NULL: no memory. */
static struct kernel *lookup(struct process *process, uint64_t object)
{
	struct kernel_map *map = process->kernels;
	struct kernel *kernel;

	if (!map) {
		map = process->kernels = calloc(1, sizeof *map);
		if (!map)
			return NULL;
		map->process = process;
	}
	if (!map->size && grow(map))
		return NULL;
	kernel = slot_of(map, object);
	if (kernel->object)
		return kernel;
	if (process->r_debug)
		map->r_debug = process->r_debug;
	if (!map->r_debug)
		map->r_debug = codeobj_r_debug(process);
	if (map->r_debug)
		codeobj_walk(process, map->r_debug, loaded_before, found_kernel, map);
	kernel = slot_of(map, object);
	if (kernel->object)
		return kernel;
	kernel = insert(map, object);
	if (kernel)
		kernel->record = report_kernel_index(process->sim, "(unnamed)", false);
	return kernel;
}

/* Arguments of ROCr's kernels: aligned copy, misaligned copy and fill. */
union blit_args {
	struct {
		uint64_t src, dst, edges[6], src_end, dst_end;
		uint32_t workitems;
	} aligned;
	struct {
		uint64_t src, dst, edges[2], src_end, dst_end;
		uint32_t workitems;
	} misaligned;
	struct {
		uint64_t dst, edge, end;
		uint32_t value, workitems;
	} fill;
};

/* Recognises ROCr's copy and fill kernels by their arguments, and fills in the packet. Returns
 * false for other kernels. */
static bool recognise_blit(const struct process *process, const struct dispatch *dispatch,
			   struct packet *packet)
{
	union blit_args a;
	uint32_t grid = dispatch->grid[0];

	memset(&a, 0, sizeof a);
	if (access_read(process, dispatch->kernarg, &a, sizeof a.aligned) &&
	    access_read(process, dispatch->kernarg, &a, sizeof a.fill))
		return false;
	if (a.aligned.workitems == grid && a.aligned.dst_end >= a.aligned.dst &&
	    a.aligned.dst_end - a.aligned.dst == a.aligned.src_end - a.aligned.src) {
		packet->kind = PACKET_COPY;
		packet->move.src = a.aligned.src;
		packet->move.dst = a.aligned.dst;
		packet->move.bytes = a.aligned.dst_end - a.aligned.dst;
	} else if (a.misaligned.workitems == grid && a.misaligned.dst_end >= a.misaligned.dst &&
		   a.misaligned.dst_end - a.misaligned.dst ==
			   a.misaligned.src_end - a.misaligned.src) {
		packet->kind = PACKET_COPY;
		packet->move.src = a.misaligned.src;
		packet->move.dst = a.misaligned.dst;
		packet->move.bytes = a.misaligned.dst_end - a.misaligned.dst;
	} else if (a.fill.workitems == grid && a.fill.edge >= a.fill.dst &&
		   a.fill.end >= a.fill.edge) {
		packet->kind = PACKET_FILL;
		packet->move.dst = a.fill.dst;
		packet->move.bytes = a.fill.end - a.fill.dst;
		packet->move.value = a.fill.value;
		packet->move.element = 4;
	} else {
		return false;
	}
	return true;
}

/* Returns the time of one workgroup of a copy or fill of @bytes. Workgroups that run at the same
 * time share the copy bandwidth. */
static uint64_t transfer_ns(const struct sim_config *config, const struct dispatch *dispatch,
			    uint64_t bytes)
{
	uint64_t threads = (uint64_t)dispatch->group[0] * dispatch->group[1] * dispatch->group[2];
	uint64_t wave_slots = (uint64_t)config->gpu.cus * config->gpu.wave_slots_per_cu;
	uint64_t at_once = wave_slots / ((threads + 63) / 64);
	uint64_t rounds = at_once ? (dispatch->workgroups + at_once - 1) / at_once : 1;

	return (uint64_t)((double)bytes * 1000.0 / (double)gb_bytes_us(config->node.blit_gb_per_s) /
			  (double)rounds);
}

int kernels_classify(struct process *process, const struct dispatch *dispatch,
		     struct packet *packet, uint64_t *wg_ns)
{
	const struct sim_config *config = &process->sim->config;
	struct kernel *kernel = lookup(process, dispatch->kernel_object);
	struct {
		uint64_t ticks, cells;
	} spin;

	if (!kernel)
		return -ENOMEM;
	packet->kind = PACKET_DISPATCH;
	packet->kernel = kernel->record;
	*wg_ns = us_ns(config->node.unknown_kernel_us);
	if (kernel->spin) {
		if (access_read(process, dispatch->kernarg, &spin, sizeof spin))
			return -EFAULT;
		if (spin.ticks > TICKS_MAX)
			spin.ticks = TICKS_MAX;
		packet->kind = PACKET_SPIN;
		packet->spin.cells = spin.cells;
		*wg_ns = spin.ticks * NS_PER_TICK;
	} else if (kernel->blit == BLIT_UNKNOWN) {
		if (!kernel->logged)
			sim_log("%s of pid %d is timed, not executed: the data that it moves is "
				"missing",
				process->sim->kernels[kernel->record].name, process->record->pid);
		kernel->logged = true;
	} else if (kernel->blit != BLIT_NONE) {
		uint64_t bytes;

		packet->kind = PACKET_BLIT;
		packet->blit = (struct blit_call){.which = kernel->blit,
						  .kernarg = dispatch->kernarg,
						  .items = dispatch->grid[0]};
		if (blit_bytes(process, &packet->blit, &bytes))
			return -EFAULT;
		*wg_ns = transfer_ns(config, dispatch, bytes);
	} else if (!kernel->named && recognise_blit(process, dispatch, packet)) {
		packet->kernel = report_kernel_index(
			process->sim,
			packet->kind == PACKET_COPY ? "(runtime copy)" : "(runtime fill)", true);
		if (packet->move.bytes > BYTES_MAX)
			return -EFAULT;
		*wg_ns = transfer_ns(config, dispatch, packet->move.bytes);
	}
	return 0;
}

/* Forgets the kernels in freed memory: a kernel that is loaded there later needs a new lookup. */
void kernels_forget(struct process *process, uint64_t va, uint64_t bytes)
{
	struct kernel_map *map = process->kernels;
	struct kernel *old;
	size_t old_size, n_valid = 0;
	bool hit = false;

	if (!map || !map->size)
		return;
	for (size_t i = 0; i < map->n_loaded; i++)
		if (map->loaded[i] - va >= bytes)
			map->loaded[n_valid++] = map->loaded[i];
	map->n_loaded = n_valid;
	for (size_t i = 0; i < map->size && !hit; i++)
		hit = map->slots[i].object && map->slots[i].object - va < bytes;
	if (!hit)
		return;
	old = map->slots;
	old_size = map->size;
	map->slots = calloc(old_size, sizeof *old);
	map->used = 0;
	if (!map->slots) {
		map->size = 0; /* all code objects are read again */
		map->n_loaded = 0;
	}
	for (size_t i = 0; map->slots && i < old_size; i++) {
		if (!old[i].object || old[i].object - va < bytes)
			continue;
		*slot_of(map, old[i].object) = old[i];
		map->used++;
	}
	free(old);
}

void kernels_release(struct process *process)
{
	if (!process->kernels)
		return;
	free(process->kernels->slots);
	free(process->kernels->loaded);
	free(process->kernels);
	process->kernels = NULL;
}
