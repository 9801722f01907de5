// SPDX-License-Identifier: MIT
/* Several queues under random bounces: every workgroup once, no work added or lost. */
#include "tests/gpu/script.h"
#include "tests/gpu/world.h"

static void under_random_bounces(void **state)
{
	uint64_t bounces = 0, preempted = 0, workgroups = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct script script = {.seed = seed, .steps = 3000, .finish = true};
		struct script_result result = script_run(&script);

		bounces += result.bounces;
		preempted += result.preempted;
		workgroups += result.workgroups;
	}
	/* The script did what it is for. */
	assert_true(bounces > 1000);
	assert_true(preempted > 500);
	assert_true(workgroups > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(under_random_bounces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
