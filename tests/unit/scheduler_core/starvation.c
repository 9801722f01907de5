// SPDX-License-Identifier: MIT
/* Proves: 30 s suspended at most, then 200 ms of running in one piece; short
 * rests in between do not renew the 30 s, a full one does. */
#include "tests/unit/scheduler_core/play.h"

static core_id low, high;

static int setup(void **state)
{
	if (play_setup(state))
		return -1;
	low = play_add(2);
	high = play_add(15);
	play_active(low, GPU);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	return 0;
}

static void one_stretch(void **state)
{
	(void)state;
	play_expect_nothing();
	assert_int_equal(deadline, now + 30 * S);
	now += 30 * S - 1;
	play_expect_nothing();
	now += 1;
	play_expect(CORE_RESUME, low);
	assert_false(actions[0].prompt);
	now += 5 * MS;
	play_done(low);
	play_expect_nothing();
	assert_int_equal(deadline, now + 200 * MS);
	now += 200 * MS - 1;
	play_expect_nothing();
	now += 1;
	play_expect(CORE_SUSPEND, low);
	assert_false(actions[0].prompt);
	play_done(low);
	play_expect_nothing();
	assert_int_equal(deadline, now + 30 * S); /* and again */
}

/* Lets it rest for `ns`, then suspends it again. */
static void rest(uint64_t ns)
{
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
	play_done(low);
	now += ns;
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
}

static void short_rests_do_not_count_as_long_ones(void **state)
{
	(void)state;
	now += 29 * S;
	rest(1 * MS);
	play_expect_nothing();
	assert_int_equal(deadline, now + 1 * S);
}

static void many_short_rests_add_up(void **state)
{
	(void)state;
	now += 29 * S;
	for (int i = 0; i < 199; i++)
		rest(1 * MS);
	play_expect_nothing();
	assert_int_equal(deadline, now + 1 * S);
	rest(1 * MS);
	play_expect_nothing();
	assert_int_equal(deadline, now + 30 * S);
}

static void rest_ends_early_for_nobody_else(void **state)
{
	(void)state;
	now += 30 * S;
	play_expect(CORE_RESUME, low);
	play_done(low);
	for (int i = 0; i < 100; i++) {
		play_idle(high, GPU);
		play_expect_nothing();
		play_active(high, GPU);
		play_expect_nothing();
		now += 1 * MS;
	}
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(one_stretch),
		HERE(short_rests_do_not_count_as_long_ones),
		HERE(many_short_rests_add_up),
		HERE(rest_ends_early_for_nobody_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
