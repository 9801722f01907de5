/* SPDX-License-Identifier: MIT */
/*
 * A random run of a GPU with up to eight queues of all kinds: packets, runlist updates, releases
 * and removals, all derived from one seed. Each event is checked against the contract of sim/gpu as
 * it comes: the order, barriers, each workgroup once, no event of a queue that is unmapped or
 * removed, and no event during a runlist update except of what had ended before. A violation fails
 * the running cmocka test.
 */
#ifndef KFDSHIM_TESTS_UNIT_SIM_GPU_SCRIPT_H
#define KFDSHIM_TESTS_UNIT_SIM_GPU_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/gpu/gpu.h"

struct script {
	uint64_t seed;
	uint32_t steps;
	bool removals;	     /* queues are removed at any time */
	bool oversubscribed; /* there are more clients and queues than slots */
	bool resets;	     /* queues are reset, and a first suspend takes longer */
	bool finish;	     /* at the end, map all queues and run until all work is done */
};

struct script_result {
	uint64_t hash; /* of every event with all its fields, in order */
	uint64_t events, updates, preempted, removed, workgroups;
	uint64_t slices, resets, lost;
	uint64_t times[GPU_TIMES]; /* only without removals */
};

/* Executes the script. Returns what happened in it. */
struct script_result script_run(const struct script *script);

#endif
