// SPDX-License-Identifier: MIT
/* Proves, for max_online_overhead:
 *  - The time that more urgent work loses to suspensions stays within that percentage of its time,
 *    plus what can be spent in advance.
 *  - A hold is charged once, even if its clients come and go. A hold that such work did not cause
 *    is not charged.
 *  - A budget that is used up keeps a gang held for at most a second without more urgent work, and
 *    never beyond the starvation bound. */
#include "tests/unit/scheduler_core/play.h"

#define PERCENT 1
#define ADVANCE (10 * MS) /* PERCENT of one second */

static core_id low, high;

static void configure(uint64_t max_suspended)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	config.hold_over = false;
	config.max_online_overhead = PERCENT;
	config.max_suspended_ns = max_suspended;
	core_configure(core, &config);
}

static int setup(void **state)
{
	if (play_setup(state))
		return -1;
	configure(30 * S);
	low = play_add(2);
	high = play_add(15);
	play_active(low, GPU);
	return 0;
}

/* Decides, and lets the actions that follow succeed, until there are none. */
static void finish(uint64_t cost)
{
	while (play_decide())
		for (size_t i = 0; i < action_count; i++)
			core_finished(core, actions[i].client, 0, cost, now);
}

/* Plays a request of `work` ns, for which `low` is suspended if it runs. Returns whether `low` is
 * released when the request ends. */
static bool request(uint64_t work, uint64_t cost)
{
	play_active(high, GPU);
	finish(cost);
	assert_int_equal(play_state(low), CORE_SUSPENDED);
	now += work;
	play_idle(high, GPU);
	finish(cost);
	return play_state(low) == CORE_RUNNING;
}

/* Returns how often in a row `low` is released at once. */
static unsigned spend(uint64_t cost)
{
	unsigned n = 0;

	while (n < 1000 && request(1, cost)) {
		now += 1 * MS;
		n++;
	}
	return n;
}

static void overhead_stays_in_its_limit(void **state)
{
	uint64_t worked = 0, paid = 0;
	bool runs = true;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		paid += runs ? 1 * MS : 0;
		runs = request(7 * MS, 1 * MS);
		worked += 7 * MS;
		assert_true(paid <= ADVANCE + 1 * MS + worked / 100 * PERCENT);
		now += 20 * MS;
	}
	assert_true(paid >= worked / 100 * PERCENT); /* the budget is also used */
}

static void advance_is_of_one_second(void **state)
{
	(void)state;
	/* The last one leaves no room for another. */
	assert_int_equal(spend(1 * MS), 9);
	assert_true(request(200 * MS, 1 * MS)); /* earns two suspensions */
	now += 1 * MS;
	assert_int_equal(spend(1 * MS), 1);
	request(20 * S, 1 * MS); /* earns all suspensions, but no more than the maximum */
	now += 1 * MS;
	assert_int_equal(spend(1 * MS), 9);
}

/* A single suspension above the budget is granted once the debt is paid. */
static void more_than_the_limit(void **state)
{
	(void)state;
	assert_false(request(1 * MS, 30 * MS));
	assert_false(request(2800 * MS, 30 * MS));
	assert_true(request(300 * MS, 30 * MS));
}

static void a_second_without_ends_it(void **state)
{
	uint64_t idle;

	(void)state;
	spend(1 * MS);
	idle = now;
	play_expect_nothing();
	assert_int_equal(deadline, idle + 1 * S);
	now = deadline - 1;
	play_expect_nothing();
	now++;
	play_expect(CORE_RESUME, low);
}

/* What they do not pay is not left to those that come after them. */
static void rare_requests_owe_little(void **state)
{
	(void)state;
	spend(1 * MS);
	for (int i = 0; i < 50; i++) {
		now += 1 * S;
		play_expect(CORE_RESUME, low);
		play_done(low);
		now += 1 * S;
		assert_false(request(1 * MS, 1 * MS));
	}
	assert_true(request(250 * MS, 1 * MS));
}

static void starvation_ends_it(void **state)
{
	(void)state;
	configure(400 * MS);
	spend(1 * MS);
	play_expect_nothing();
	assert_true(deadline < now + 400 * MS);
	now = deadline;
	play_expect(CORE_RESUME, low);
}

/* Two clients of a group are suspended at the same time, and one of them leaves repeatedly during
 * the hold. That counts as one suspension. */
static void a_hold_is_paid_once(void **state)
{
	core_id other;

	(void)state;
	core_remove(core, low);
	low = core_add(core, 1, 7, 2, now);
	other = core_add(core, 1, 7, 2, now);
	core_set_capability(core, low, CORE_ABLE);
	core_set_capability(core, other, CORE_ABLE);
	play_active(low, GPU);
	play_active(other, GPU);
	for (int i = 0; i < 4; i++) {
		assert_true(request(1, 1 * MS));
		now += 1 * MS;
	}
	play_active(high, GPU);
	finish(1 * MS);
	assert_int_equal(play_state(low), CORE_SUSPENDED);
	assert_int_equal(play_state(other), CORE_SUSPENDED);
	for (int i = 0; i < 8; i++) {
		core_set_teardown(core, other, true);
		play_expect(CORE_RESUME, other);
		play_done(other);
		core_set_teardown(core, other, false);
		now += 10 * MS;
		play_expect(CORE_SUSPEND, other);
		play_done(other);
	}
	assert_true(request(1, 1 * MS));
	now += 1 * MS;
	assert_int_equal(spend(1 * MS), 4);
}

static void what_never_was_is_free(void **state)
{
	(void)state;
	request(1, 1 * MS); /* so that the cost of a suspension is known */
	for (int i = 0; i < 50; i++) {
		now += 20 * MS;
		play_active(high, GPU);
		play_expect(CORE_SUSPEND, low);
		core_finished(core, low, -ECANCELED, 0, now);
		play_idle(high, GPU);
		play_expect_nothing();
	}
	now += 20 * MS;
	assert_int_equal(spend(1 * MS), 8);
}

static void leases_are_free(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		core_set_lease(core, low, CORE_NEVER);
		play_expect(CORE_SUSPEND, low);
		play_done(low);
		now += 1 * MS;
		core_set_lease(core, low, 0);
		play_expect(CORE_RESUME, low);
		play_done(low);
	}
	assert_int_equal(spend(1 * MS), 9);
}

static void a_reload_begins_anew(void **state)
{
	(void)state;
	spend(1 * MS);
	configure(30 * S);
	play_expect(CORE_RESUME, low);
	play_done(low);
	assert_int_equal(spend(1 * MS), 9);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(overhead_stays_in_its_limit),
		HERE(advance_is_of_one_second),
		HERE(more_than_the_limit),
		HERE(a_second_without_ends_it),
		HERE(rare_requests_owe_little),
		HERE(starvation_ends_it),
		HERE(a_hold_is_paid_once),
		HERE(what_never_was_is_free),
		HERE(leases_are_free),
		HERE(a_reload_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
