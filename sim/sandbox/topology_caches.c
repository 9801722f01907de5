// SPDX-License-Identifier: MIT
/*
 * The caches of a GPU node, in the driver's order (kfd_fill_cache_non_crat_info()): an L1 data
 * cache for every compute unit (CU) in use; an instruction cache and a scalar L1 cache for every
 * group of CUs that share them; one L2 cache and, if the GPU has one, one L3 cache for the whole
 * node. Which CUs of an array are fused off differs from card to card. Here the gap always follows
 * the fifth CU, which results in the same number of caches as on real machines.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "sim/sandbox/topology.h"
#include "sim/sandbox/tree.h"

#define NODES "sys/devices/virtual/kfd/kfd/topology/nodes"
/* The number of CUs before the gap, see above. */
#define GAP_AT 5u
#define CACHE_DATA 9 /* data 1 + SIMD 8 (kfd_crat.h) */
/* Instruction 2 + SIMD 8. */
#define CACHE_INST 10
#define ARRAYS_MAX 64u /* arrays beyond these are left out of the map */
#define MAP_WORD 32u   /* flags per array in a sibling map */

/* An array has `slots` places for CUs, of which `gap` are fused off; the first `fuller` arrays
 * have one more CU. */
struct shape {
	unsigned arrays, slots, gap, fuller;
};

/* Distributes the CUs of the node over its arrays. */
static struct shape shape_of(const struct profile *node)
{
	unsigned cus = (unsigned)(node->simd_count / node->simd_per_cu);
	struct shape s = {
		.arrays = (unsigned)node->array_count,
		.slots = (unsigned)node->cu_per_simd_array,
	};

	s.fuller = cus % s.arrays;
	s.gap = s.slots - cus / s.arrays;
	return s;
}

static bool cu_in_use(const struct shape *s, unsigned array, unsigned slot)
{
	unsigned gap = s->gap - (array < s->fuller);
	unsigned at = GAP_AT + gap > s->slots ? s->slots - gap : GAP_AT;

	return slot < at || slot >= at + gap;
}

/* Returns the first CU in use of a group, and the CUs in use as flags relative to it; -1 if
 * none is in use. */
static int group_flags(const struct shape *s, unsigned array, unsigned from, unsigned n,
		       unsigned *flags)
{
	int first = -1;

	*flags = 0;
	for (unsigned slot = from; slot < from + n && slot < s->slots; slot++) {
		if (!cu_in_use(s, array, slot))
			continue;
		if (first < 0)
			first = (int)slot;
		*flags |= 1u << (slot - (unsigned)first);
	}
	return first;
}

unsigned caches_count(const struct machine *machine)
{
	const struct profile *node = &machine->node_profile;
	struct shape s = shape_of(node);
	unsigned cus = 0, groups = 0, flags;

	for (unsigned array = 0; array < s.arrays; array++) {
		for (unsigned slot = 0; slot < s.slots; slot++)
			cus += cu_in_use(&s, array, slot);
		for (unsigned slot = 0; slot < s.slots; slot += (unsigned)node->cus_per_inst_cache)
			groups += group_flags(&s, array, slot, (unsigned)node->cus_per_inst_cache,
					      &flags) >= 0;
	}
	return cus + 2 * groups + 1 + (node->l3_size_in_kb > 0);
}

struct cache {
	unsigned first, level;
	int type;
	uint64_t kib, line;
	const char *siblings;
};

static void write_cache(unsigned directory, unsigned *index, const struct cache *cache)
{
	char path[128];

	snprintf(path, sizeof(path), NODES "/%u/caches/%u/properties", directory, (*index)++);
	tree_file(path,
		  "processor_id_low %u\nlevel %u\nsize %" PRIu64 "\ncache_line_size %" PRIu64
		  "\ncache_lines_per_tag 1\nassociation 0\nlatency 0\n"
		  "type %d\nsibling_map %s\n",
		  SIMD_ID_BASE + cache->first, cache->level, cache->kib, cache->line, cache->type,
		  cache->siblings);
}

/* Appends MAP_WORD flags as "0," or "1,". The caller replaces the last comma. */
static char *put_flags(char *to, unsigned flags)
{
	for (unsigned bit = 0; bit < MAP_WORD; bit++) {
		*to++ = flags >> bit & 1 ? '1' : '0';
		*to++ = ',';
	}
	return to;
}

/* Writes one cache for every group of `share` CUs. */
static void write_groups(const struct machine *machine, unsigned directory, unsigned *index,
			 struct cache cache, unsigned share)
{
	struct shape s = shape_of(&machine->node_profile);
	char map[2 * MAP_WORD + 1];
	unsigned flags;
	int first;

	cache.siblings = map;
	for (unsigned array = 0; array < s.arrays; array++) {
		for (unsigned slot = 0; slot < s.slots; slot += share) {
			first = group_flags(&s, array, slot, share, &flags);
			if (first < 0)
				continue;
			put_flags(map, flags)[-1] = '\0';
			cache.first = array * s.slots + (unsigned)first;
			write_cache(directory, index, &cache);
		}
	}
}

/* Writes a cache that all CUs of the node share. */
static void write_whole(const struct machine *machine, unsigned directory, unsigned *index,
			struct cache cache)
{
	struct shape s = shape_of(&machine->node_profile);
	char map[ARRAYS_MAX * 2 * MAP_WORD], *to = map;
	unsigned flags;

	for (unsigned array = 0; array < s.arrays && array < ARRAYS_MAX; array++) {
		group_flags(&s, array, 0, s.slots, &flags);
		to = put_flags(to, flags);
	}
	to[-1] = '\0';
	cache.siblings = map;
	write_cache(directory, index, &cache);
}

void caches_write(const struct machine *machine, unsigned directory)
{
	const struct profile *p = &machine->node_profile;
	const unsigned share = (unsigned)p->cus_per_inst_cache;
	const struct cache own = {0, 1, CACHE_DATA, p->l1_size_in_kb, p->l1_line_bytes, NULL};
	const struct cache inst = {0, 1, CACHE_INST, p->inst_size_in_kb, p->l1_line_bytes, NULL};
	const struct cache scalar = {0,	  1, CACHE_DATA, p->scalar_size_in_kb, p->l1_line_bytes,
				     NULL};
	const struct cache l2 = {0, 2, CACHE_DATA, p->l2_size_in_kb, p->l2_line_bytes, NULL};
	const struct cache l3 = {0, 3, CACHE_DATA, p->l3_size_in_kb, p->l2_line_bytes, NULL};
	unsigned index = 0;

	write_groups(machine, directory, &index, own, 1);
	write_groups(machine, directory, &index, inst, share);
	write_groups(machine, directory, &index, scalar, share);
	write_whole(machine, directory, &index, l2);
	if (p->l3_size_in_kb)
		write_whole(machine, directory, &index, l3);
}
