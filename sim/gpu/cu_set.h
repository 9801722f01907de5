/* SPDX-License-Identifier: MIT */
/* Defines sets of the CUs of one XCC, as bit sets. Pure functions; no allocation. */
#ifndef KFDSHIM_SIM_GPU_CU_SET_H
#define KFDSHIM_SIM_GPU_CU_SET_H

#include <stdbool.h>
#include <stdint.h>

#define CUS_XCC_MAX 128u

struct cus {
	uint64_t w[CUS_XCC_MAX / 64];
};

static inline struct cus cus_and(struct cus a, struct cus b)
{
	return (struct cus){{a.w[0] & b.w[0], a.w[1] & b.w[1]}};
}

static inline struct cus cus_or(struct cus a, struct cus b)
{
	return (struct cus){{a.w[0] | b.w[0], a.w[1] | b.w[1]}};
}

/* Returns the CUs of `a` that are not in `b`. */
static inline struct cus cus_without(struct cus a, struct cus b)
{
	return (struct cus){{a.w[0] & ~b.w[0], a.w[1] & ~b.w[1]}};
}

static inline bool cus_none(struct cus a)
{
	return (a.w[0] | a.w[1]) == 0;
}

static inline bool cus_meet(struct cus a, struct cus b)
{
	return ((a.w[0] & b.w[0]) | (a.w[1] & b.w[1])) != 0;
}

static inline bool cus_equal(struct cus a, struct cus b)
{
	return a.w[0] == b.w[0] && a.w[1] == b.w[1];
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

#endif
