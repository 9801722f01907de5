/* SPDX-License-Identifier: MIT */
/*
 * Bad input, for the fuzz_*.c programs: processes that do whatever a round()
 * makes of a seed, two at a time, beside one that does ordinary queue work, which
 * must stay right. A round may crash, hang (it is killed after a while) or end;
 * that it can be killed at once is checked.
 *
 * The same seed makes the same calls and packets; what runs beside them does not
 * repeat.
 */
#ifndef KFDSHIM_TESTS_FUZZ_FUZZ_H
#define KFDSHIM_TESTS_FUZZ_FUZZ_H

#include "conform/lab.h"

struct dice {
	uint64_t state;
};

/* Things to name: buffers and where they lie, queues, descriptors. */
#define PLACES_MAX 24u
struct pool {
	struct dice dice;
	struct gpu_file gpu;
	struct buffer places[PLACES_MAX];
	unsigned n_places;
	struct raw_queue queues[4]; /* AQL, PM4, SDMA, AQL */
	unsigned n_queues;
	uint32_t event;
	pid_t others[3];
	int fds[2]; /* a pipe */
};

uint64_t roll(struct dice *dice);
uint32_t below(struct dice *dice, uint32_t n); /* 0 .. n - 1 */
bool once_in(struct dice *dice, uint32_t n);
void noise(struct dice *dice, void *to, size_t bytes);

/* Opens the GPU and makes some of everything. */
void pool_new(struct pool *pool, uint64_t seed);
uint64_t any_address(struct pool *pool); /* mostly a good one */
uint64_t any_value(struct pool *pool);	 /* numbers that are likely to matter */

/* Arguments: seed and seconds. Does not return early where the neighbour fails. */
int fuzz(int argc, char **argv, void (*round)(struct pool *pool));

#endif
