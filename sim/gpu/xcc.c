// SPDX-License-Identifier: MIT
/*
 * Keeps the free wave slots of the CUs of one XCC.
 *
 * CUs with the same number of free wave slots form a level, which is a bit set. An operation on
 * many equal CUs (a kernel that fills an idle XCC, workgroups that end together) therefore takes
 * one step, however many CUs there are.
 */
#include "sim/gpu/gpu_priv.h"

static inline struct cus cus_or(struct cus a, struct cus b)
{
	return (struct cus){{a.w[0] | b.w[0], a.w[1] | b.w[1]}};
}

static inline bool cus_none(struct cus a)
{
	return (a.w[0] | a.w[1]) == 0;
}

static inline bool cus_meet(struct cus a, struct cus b)
{
	return ((a.w[0] & b.w[0]) | (a.w[1] & b.w[1])) != 0;
}

/* Returns the number of bits that are set in `word`. Avoids __builtin_popcountll(), because the
 * build must not assume the popcnt instruction, and without it the compiler calls a library
 * function. */
static inline uint32_t cus_count_word(uint64_t word)
{
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(word * UINT64_C(0x0101010101010101) >> 56);
}

static inline uint32_t cus_count(struct cus a)
{
	uint32_t n = cus_count_word(a.w[0]);

	return a.w[1] ? n + cus_count_word(a.w[1]) : n;
}

/* Returns the CUs 0 .. n - 1; n <= CUS_XCC_MAX. */
static inline struct cus cus_below(uint32_t n)
{
	return (struct cus){{
		n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1,
		n >= 128 ? ~UINT64_C(0)
		: n > 64 ? (UINT64_C(1) << (n - 64)) - 1
			 : 0,
	}};
}

/* Returns the lowest `n` bits that are set in `word`; all of them if there are fewer. */
static inline uint64_t cus_first_of(uint64_t word, uint32_t n)
{
	uint64_t out = 0;

	for (; n > 0 && word; n--, word &= word - 1)
		out |= word & -word;
	return out;
}

/* Returns the `n` CUs of `a` with the lowest numbers; n <= cus_count(a). */
static inline struct cus cus_first(struct cus a, uint32_t n)
{
	uint32_t low = cus_count_word(a.w[0]);

	if (n <= low)
		return (struct cus){{cus_first_of(a.w[0], n), 0}};
	return (struct cus){{a.w[0], cus_first_of(a.w[1], n - low)}};
}

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
