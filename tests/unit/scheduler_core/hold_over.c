// SPDX-License-Identifier: MIT
/* Proves: the gap between two requests is spent held where that is cheaper than a resume
 * and a suspend, as far as both are known, and never longer than those cost. */
#include "tests/unit/scheduler_core/play.h"

#define COST (10 * MS) /* 6 of the suspend, 4 of the resume */

static core_id low, high;

static int setup(void **state)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	if (play_setup(state))
		return -1;
	config.max_holds_per_s = 0;
	core_configure(core, &config);
	low = play_add(2);
	high = play_add(15);
	play_active(low, GPU);
	return 0;
}

static void suspended(void)
{
	play_expect(CORE_SUSPEND, low);
	core_finished(core, low, 0, 6 * MS, now);
}

static void resumed(void)
{
	play_expect(CORE_RESUME, low);
	core_finished(core, low, 0, 4 * MS, now);
}

/* One request of 50 ms, then a gap; returns how much of it was spent held. */
static uint64_t request(uint64_t gap)
{
	uint64_t idle, held = gap;

	play_active(high, GPU);
	if (play_decide())
		core_finished(core, low, 0, 6 * MS, now);
	assert_int_equal(play_state(low), CORE_SUSPENDED);
	now += 50 * MS;
	idle = now;
	play_idle(high, GPU);
	if (play_decide() == 0 && deadline < idle + gap) {
		now = deadline;
		assert_int_equal(play_decide(), 1);
	}
	if (action_count) {
		held = now - idle;
		core_finished(core, low, 0, 4 * MS, now);
	}
	now = idle + gap;
	return held;
}

static void nothing_is_known_at_first(void **state)
{
	(void)state;
	play_active(high, GPU);
	suspended();
	play_idle(high, GPU);
	resumed();
}

static void short_gaps_are_held(void **state)
{
	(void)state;
	request(5 * MS); /* costs are learned */
	for (int i = 0; i < 20; i++)
		assert_int_equal(request(5 * MS), 5 * MS);
	/* a long one costs what it would have saved, and no more */
	assert_in_range(request(1 * S), COST - 1 * MS, COST);
}

static void long_gaps_are_not(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		assert_true(request(100 * MS) <= COST); /* until that is learned */
	for (int i = 0; i < 20; i++)
		assert_int_equal(request(100 * MS), 0);
	/* and they may become short again */
	for (int i = 0; i < 20; i++)
		request(2 * MS);
	assert_int_equal(request(2 * MS), 2 * MS);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(nothing_is_known_at_first),
		HERE(short_gaps_are_held),
		HERE(long_gaps_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
