/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing of the simulated driver, for the programs fuzz_*.c: two processes at a time execute
 * random operations that a function round() derives from a seed. Beside them a neighbour does
 * ordinary queue work, whose results must stay correct. A round may crash, end, or hang; it is
 * killed after a while, and must then end at once.
 *
 * The same seed produces the same calls and packets, but the interleaving with the other processes
 * is not reproducible.
 */
#ifndef KFDSHIM_TESTS_FUZZ_FUZZ_H
#define KFDSHIM_TESTS_FUZZ_FUZZ_H

#include "tools/kfdconform/harness/harness.h"

/* The state of a pseudo-random generator. */
struct dice {
	uint64_t state;
};

/* The objects that a round can use in its operations: buffers and their addresses, queues, an
 * event, other processes, file descriptors. */
#define BUFFERS_MAX 24u
struct pool {
	struct dice dice;
	struct gpu_file gpu;
	struct buffer buffers[BUFFERS_MAX];
	unsigned n_buffers;
	struct raw_queue queues[4]; /* types: AQL, PM4, SDMA, AQL */
	unsigned n_queues;
	uint32_t event;
	pid_t others[3];
	int fds[2]; /* the ends of a pipe */
};

/* Returns the next 64 random bits. */
uint64_t roll(struct dice *dice);
uint32_t below(struct dice *dice, uint32_t n); /* returns 0 .. n - 1 */
/* Returns true with a probability of 1/n. */
bool once_in(struct dice *dice, uint32_t n);
/* Fills `bytes` bytes with random bits. */
void noise(struct dice *dice, void *to, size_t bytes);

/* Opens the GPU and creates objects of every kind. */
void pool_new(struct pool *pool, uint64_t seed);
uint64_t any_address(struct pool *pool); /* returns mostly a valid address */
uint64_t any_value(struct pool *pool);	 /* returns a number that is likely to be meaningful */

/* The main function of a fuzzer. Arguments of the program: seed and seconds. A failure of the
 * neighbour is reported only after that time. */
int fuzz(int argc, char **argv, void (*round)(struct pool *pool));

#endif
