// SPDX-License-Identifier: MIT
/* Proves:
 *  - A client whose suspend failed, or with several slow suspends in a row, is never suspended
 *    again and never left suspended.
 *  - After a slow suspend the client is exempt for a pause, which doubles with the next one. A
 *    suspend that is not slow ends the row.
 *  - A failed resume is repeated until it succeeds. */
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
	return 0;
}

static void expect_exempt(enum core_exempt exempt)
{
	struct core_view view;

	assert_true(core_view_client(core, low, now, &view));
	assert_int_equal(view.exempt, exempt);
	for (int i = 0; i < 10; i++) {
		play_idle(high, GPU);
		play_expect_nothing();
		play_active(high, GPU);
		now += 10 * S;
		play_expect_nothing();
	}
}

static void failed_suspend_is_undone_and_the_last(void **state)
{
	struct core_view view;

	(void)state;
	core_finished(core, low, -EIO, 9 * S, now);
	play_expect(CORE_RESUME, low);
	assert_false(actions[0].prompt);
	play_done(low);
	expect_exempt(CORE_EXEMPT_FAILED);
	assert_true(core_view_client(core, low, now, &view));
	assert_int_equal(view.suspends, 0);
	assert_int_equal(view.resumes, 0);
	assert_int_equal(view.failures, 1);
}

/* The suspend in flight has taken `duration_ns`. Then its cause ends. */
static void suspend_took(uint64_t duration_ns)
{
	core_finished(core, low, 0, duration_ns, now);
	play_expect_nothing(); /* the suspend succeeded, so the client stays held */
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
	play_done(low);
}

/* Checks that the client is not suspended for `pause_ns`, although there is a cause. */
static void expect_pause(uint64_t pause_ns)
{
	play_active(high, GPU);
	play_expect_nothing();
	assert_int_equal(deadline, now + pause_ns);
	now += pause_ns - 1;
	play_expect_nothing();
	now++;
	play_expect(CORE_SUSPEND, low);
}

static void slow_suspends_in_a_row_are_the_last(void **state)
{
	(void)state;
	suspend_took(50 * MS + 1);
	expect_pause(1 * S);
	suspend_took(9 * S);
	expect_pause(2 * S);
	suspend_took(50 * MS + 1);
	expect_exempt(CORE_EXEMPT_SLOW);
}

static void a_quick_suspend_ends_the_row(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		suspend_took(60 * MS);
		expect_pause(1 * S);
		suspend_took(60 * MS);
		expect_pause(2 * S);
		suspend_took(1 * MS);
		play_active(high, GPU);
		play_expect(CORE_SUSPEND, low);
	}
}

/* core_clear_exempt() clears the exemption, for example when the client is held by another level
 * from now on. */
static void the_forgiven_are_suspended_again(void **state)
{
	(void)state;
	core_finished(core, low, -EIO, 9 * S, now);
	play_expect(CORE_RESUME, low);
	play_done(low);
	play_expect_nothing();
	core_clear_exempt(core, low);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
}

static void fast_enough_is_not_slow(void **state)
{
	(void)state;
	core_finished(core, low, 0, 50 * MS, now);
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
	play_done(low);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
}

static void cancelled_counts_as_nothing(void **state)
{
	(void)state;
	core_finished(core, low, -ECANCELED, 0, now);
	play_expect_nothing();
	assert_int_equal(deadline, now + CORE_RETRY_NS);
	now = deadline;
	play_expect(CORE_SUSPEND, low);
	core_set_teardown(core, low, true);
	core_finished(core, low, -ECANCELED, 0, now);
	play_expect_nothing();
	core_set_teardown(core, low, false);
	play_expect(CORE_SUSPEND, low);
}

static void resume_is_repeated(void **state)
{
	(void)state;
	play_done(low);
	play_idle(high, GPU);
	for (int i = 0; i < 100; i++) {
		play_expect(CORE_RESUME, low);
		core_finished(core, low, -EIO, 1 * MS, now);
		assert_int_equal(play_state(low), CORE_SUSPENDED);
		play_expect_nothing();
		assert_int_equal(deadline, now + CORE_RETRY_NS);
		now = deadline;
	}
	play_expect(CORE_RESUME, low);
	play_done(low);
	assert_int_equal(play_state(low), CORE_RUNNING);
	play_expect_nothing();
	assert_int_equal(deadline, CORE_NEVER);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(failed_suspend_is_undone_and_the_last),
		HERE(slow_suspends_in_a_row_are_the_last),
		HERE(a_quick_suspend_ends_the_row),
		HERE(the_forgiven_are_suspended_again),
		HERE(fast_enough_is_not_slow),
		HERE(cancelled_counts_as_nothing),
		HERE(resume_is_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
