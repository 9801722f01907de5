// SPDX-License-Identifier: MIT
/* Proves that the same calls produce the same events, and different calls different ones. */
#include <stdlib.h>

#include "tests/unit/sim_gpu/script.h"
#include "tests/unit/sim_gpu/world.h"

static void same_calls_same_events(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct script script = {.seed = seed,
					.steps = 3000,
					.removals = true,
					.finish = seed % 2,
					.oversubscribed = seed % 3 == 0,
					.resets = seed % 5 == 0};
		struct script_result first = script_run(&script);
		/* Makes the second run use different addresses. */
		void *in_the_way = malloc(1000 + seed * 700);
		struct script_result second = script_run(&script);

		free(in_the_way);
		assert_true(first.events > 500);
		assert_int_equal(first.events, second.events);
		assert_int_equal(first.hash, second.hash);
		assert_int_not_equal(first.hash, last);
		last = first.hash;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_calls_same_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
