/* SPDX-License-Identifier: MIT */
/*
 * Defines the largest number of GPUs (KFD nodes: a GPU, or a partition of one) that all parts of
 * this project support; eight MI300X in mode CPX are 64. A program that finds more GPUs reports
 * that once. Also defines a set of GPUs, for which the caller numbers the GPUs itself.
 *
 * Pure. Threads: the caller serialises changes of a set.
 */
#ifndef KFDSHIM_COMMON_NODES_H
#define KFDSHIM_COMMON_NODES_H

#include <stdbool.h>
#include <stdint.h>

#define GPU_NODES_MAX 128u

#define NODE_SET_WORD 64u
#define NODE_SET_WORDS (GPU_NODES_MAX / NODE_SET_WORD)
_Static_assert(GPU_NODES_MAX % NODE_SET_WORD == 0, "whole words");

/* A set of numbers below GPU_NODES_MAX. All zero: empty. */
struct node_set {
	uint64_t words[NODE_SET_WORDS]; /* bit n % 64 of word n / 64 is set if n is in the set */
};

/* Returns true if `n` is in the set. */
static inline bool node_set_has(const struct node_set *set, uint32_t n)
{
	return set->words[n / NODE_SET_WORD] >> (n % NODE_SET_WORD) & 1;
}

/* Adds `n` to the set if `in` is true, else removes it. */
static inline void node_set_put(struct node_set *set, uint32_t n, bool in)
{
	uint64_t *word = &set->words[n / NODE_SET_WORD];
	uint64_t bit = UINT64_C(1) << (n % NODE_SET_WORD);

	*word = in ? *word | bit : *word & ~bit;
}

/* Returns true if the set is not empty. */
static inline bool node_set_any(const struct node_set *set)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < NODE_SET_WORDS; i++)
		any |= set->words[i];
	return any != 0;
}

/* Adds all numbers in `set` to `to`. */
static inline void node_set_add(struct node_set *to, const struct node_set *set)
{
	for (uint32_t i = 0; i < NODE_SET_WORDS; i++)
		to->words[i] |= set->words[i];
}

/* Returns true if a number is in both sets. */
static inline bool node_sets_meet(const struct node_set *a, const struct node_set *b)
{
	uint64_t both = 0;

	for (uint32_t i = 0; i < NODE_SET_WORDS; i++)
		both |= a->words[i] & b->words[i];
	return both != 0;
}

#endif
