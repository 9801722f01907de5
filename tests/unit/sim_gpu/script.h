/* SPDX-License-Identifier: MIT */
/*
 * A random life of a GPU with up to eight queues of both kinds: packets,
 * bounces, releases, removals, all from one seed. Whatever comes back is held
 * against the contract as it comes: order, barriers, each workgroup once,
 * nothing of a queue that is off or gone, nothing during a bounce but what had
 * ended. Fails the running cmocka test where it does not hold.
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
	bool oversubscribed; /* more clients and queues than there are slots for */
	bool failures;	     /* bounces that cost more or fail, and resets */
	bool finish;	     /* map everything at the end, and run until all is done */
};

struct script_result {
	uint64_t hash; /* of every event with all its fields, in order */
	uint64_t events, bounces, preempted, removed, workgroups;
	uint64_t slices, failed, lost;
	uint64_t times[GPU_TIMES]; /* only without removals */
};

struct script_result script_run(const struct script *script);

#endif
