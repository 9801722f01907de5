// SPDX-License-Identifier: MIT
/*
 * Proves that the model conserves work. Several queues run under random runlist updates,
 * priorities, CU masks and time slices: every workgroup runs once, no work is added or lost, and
 * each nanosecond is in exactly one of the GPU's times. When a queue is reset, only packets that
 * had started are lost, and everything else runs.
 */
#include "tests/unit/sim_gpu/script.h"
#include "tests/unit/sim_gpu/world.h"

/* Runs the script with 40 seeds. Returns the sum of the results. */
static struct script_result lives(struct script script)
{
	struct script_result all = {0};

	for (script.seed = 1; script.seed <= 40; script.seed++) {
		struct script_result result = script_run(&script);

		all.updates += result.updates;
		all.preempted += result.preempted;
		all.workgroups += result.workgroups;
		all.slices += result.slices;
		all.resets += result.resets;
		all.lost += result.lost;
		for (unsigned i = 0; i < GPU_TIMES; i++)
			all.times[i] += result.times[i];
	}
	/* the script exercised what it is meant to */
	assert_true(all.updates > 1000);
	assert_true(all.preempted > 500);
	assert_true(all.workgroups > 50000);
	for (unsigned i = 0; i < GPU_TIMES; i++)
		assert_true(all.times[i] > 100000);
	return all;
}

static void under_random_updates(void **state)
{
	(void)state;
	lives((struct script){.steps = 3000, .finish = true});
}

static void oversubscribed(void **state)
{
	(void)state;
	assert_true(lives((struct script){.steps = 3000, .finish = true, .oversubscribed = true})
			    .slices > 500);
}

static void with_resets(void **state)
{
	(void)state;
	for (int sliced = 0; sliced < 2; sliced++) {
		struct script_result all = lives((struct script){
			.steps = 3000, .finish = true, .resets = true, .oversubscribed = sliced});

		assert_true(all.resets > 100);
		assert_true(all.lost > 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(under_random_updates),
		cmocka_unit_test(oversubscribed),
		cmocka_unit_test(with_resets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
