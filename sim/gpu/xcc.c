// SPDX-License-Identifier: MIT
/*
 * Keeps the free wave slots of the CUs of one XCC.
 *
 * CUs with the same number of free wave slots form a level, which is a bit set. An operation on
 * many equal CUs (a kernel that fills an idle XCC, workgroups that end together) therefore takes
 * one step, however many CUs there are.
 */
#include "sim/gpu/gpu_priv.h"

void xcc_init(struct xcc *xcc, uint32_t cus, uint32_t wave_slots)
{
	xcc->all = cus_below(cus);
	xcc->level[wave_slots] = xcc->all;
	xcc->levels = UINT64_C(1) << wave_slots;
	xcc->free = cus * wave_slots;
	for (uint32_t i = 0; i < CLASSES; i++)
		list_init(&xcc->waiting[i]);
	list_init(&xcc->restoring);
}

/* Moves CUs from one level (number of free wave slots) to another. */
static inline void move(struct xcc *xcc, struct cus moved, uint32_t from, uint32_t to)
{
	xcc->level[from] = cus_without(xcc->level[from], moved);
	xcc->level[to] = cus_or(xcc->level[to], moved);
	xcc->levels |= UINT64_C(1) << to;
	if (cus_none(xcc->level[from]))
		xcc->levels &= ~(UINT64_C(1) << from);
}

void xcc_hold(struct xcc *xcc, struct cus cus, uint32_t wave_slots)
{
	uint64_t levels = xcc->levels;

	xcc->free -= wave_slots * cus_count(cus);
	for (; !cus_none(cus); levels &= levels - 1) {
		uint32_t level = (uint32_t)__builtin_ctzll(levels);
		struct cus here = cus_and(xcc->level[level], cus);

		if (cus_none(here))
			continue;
		move(xcc, here, level, level - wave_slots);
		cus = cus_without(cus, here);
	}
}

void xcc_give(struct xcc *xcc, struct cus cus, uint32_t wave_slots)
{
	uint64_t levels = xcc->levels;

	xcc->free += wave_slots * cus_count(cus);
	while (!cus_none(cus)) {
		uint32_t level = 63u - (uint32_t)__builtin_clzll(levels);
		struct cus here = cus_and(xcc->level[level], cus);

		levels ^= UINT64_C(1) << level;
		if (cus_none(here))
			continue;
		move(xcc, here, level, level + wave_slots);
		cus = cus_without(cus, here);
	}
}

/* Returns the highest level (number of free wave slots) from `least` to `top` that has a CU of
 * `open`, or -1 if there is none. */
static inline int highest(const struct xcc *xcc, struct cus open, int top, uint32_t least)
{
	uint64_t levels = xcc->levels & ((UINT64_C(2) << top) - 1) & (~UINT64_C(0) << least);

	while (levels) {
		int level = 63 - __builtin_clzll(levels);

		if (cus_meet(xcc->level[level], open))
			return level;
		levels ^= UINT64_C(1) << level;
	}
	return -1;
}

uint32_t xcc_take(struct xcc *xcc, struct cus open, uint32_t wave_slots, uint32_t want,
		  struct cus *cus, uint32_t *layers)
{
	int level = highest(xcc, open, WAVE_SLOTS_CU_MAX, wave_slots);

	if (level < 0 || want == 0)
		return 0;
	struct cus here = cus_and(xcc->level[level], open);
	uint32_t n = cus_count(here), k = 1;

	if (want < n) {
		here = cus_first(here, want);
		n = want;
	} else {
		/* Place further layers (one workgroup on each CU) on the same CUs, as long as these
		 * have the most free wave slots. */
		bool more = (uint32_t)level >= 2 * wave_slots && want >= 2 * n;
		int next = more ? highest(xcc, open, level - 1, 0) : -1;
		uint32_t least = next < 0 ? 0 : (uint32_t)next;

		/* The number of layers is small: subtracting is faster than dividing. */
		uint32_t left = (uint32_t)level - wave_slots, rest = want - n;

		while (left >= wave_slots && left > least && rest >= n) {
			left -= wave_slots;
			rest -= n;
			k++;
		}
	}
	move(xcc, here, (uint32_t)level, (uint32_t)level - k * wave_slots);
	xcc->free -= n * k * wave_slots;
	*cus = here;
	*layers = k;
	return n * k;
}

uint32_t xcc_room(const struct xcc *xcc, struct cus open, uint32_t wave_slots)
{
	uint64_t levels = xcc->levels & ~UINT64_C(0) << wave_slots;
	uint32_t room = 0, fit = 1, next = 2 * wave_slots;

	for (; levels; levels &= levels - 1) {
		uint32_t level = (uint32_t)__builtin_ctzll(levels);

		for (; level >= next; fit++)
			next += wave_slots;
		room += cus_count(cus_and(xcc->level[level], open)) * fit;
	}
	return room;
}

struct cus xcc_roomiest(const struct xcc *xcc, struct cus open)
{
	int level = highest(xcc, open, WAVE_SLOTS_CU_MAX, 0);

	return level < 0 ? (struct cus){{0, 0}} : cus_first(cus_and(xcc->level[level], open), 1);
}
