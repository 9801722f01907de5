// SPDX-License-Identifier: MIT
/* Proves: of several gangs with one priority that are held for the same work, one is resumed when a
 * gap begins: the one that ran longest ago. The others follow when that one has no work there any
 * more, or at the time that gains most, if each gains a quarter of the time that it runs. A gang
 * that waits for no gap there, that is not resumed in so short a gap, or that cannot be suspended
 * has no turn. */
#include "tests/unit/scheduler_core/play.h"

#define COST (2 * MS)
/* hold-over with unknown gaps (see costs_bound_it_at_first): a resume, and a suspend of weight 2;
 * beside another gang, of which a resume takes the time, too, both count four times as much */
#define FIRST (3 * COST)
#define BESIDE (13 * COST)
#define GANGS 3

static core_id low[GANGS], high;
static uint64_t first_costs; /* ns; duration of a suspend or resume of low[0] */

static int setup(void **state)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	if (play_setup(state))
		return -1;
	core_configure(core, &config);
	first_costs = COST;
	high = play_add(15);
	for (int i = 0; i < GANGS; i++) {
		low[i] = play_add(2);
		play_active(low[i], GPU);
	}
	return 0;
}

static void decide(void)
{
	play_decide();
	for (size_t i = 0; i < action_count; i++)
		core_finished(core, actions[i].client, 0,
			      actions[i].client == low[0] ? first_costs : COST, now);
}

/* Executes all deadlines up to `end`. */
static void until(uint64_t end)
{
	for (decide(); action_count || deadline <= end; decide())
		if (!action_count)
			now = deadline;
	now = end;
}

static void request(void)
{
	play_active(high, GPU);
	until(now + 10 * MS);
	play_idle(high, GPU);
}

static bool runs(core_id c)
{
	return play_state(c) == CORE_RUNNING;
}

/* Bit i: low[i] runs. */
static unsigned running(void)
{
	unsigned all = 0;

	for (int i = 0; i < GANGS; i++)
		all |= (unsigned)runs(low[i]) << i;
	return all;
}

static unsigned running_after(uint64_t gap)
{
	request();
	until(now + gap);
	return running();
}

static void one_runs_in_each_gap_in_turn(void **state)
{
	unsigned seen = 0, last = 0;

	(void)state;
	for (int i = 0; i < 2 * GANGS; i++) {
		unsigned one = running_after(FIRST + 1 * MS);

		assert_int_equal(__builtin_popcount(one), 1);
		assert_int_not_equal(one, last);
		if (i % GANGS == 0)
			seen = 0;
		assert_int_equal(one & seen, 0);
		seen |= one;
		last = one;
	}
}

static void none_runs_sooner_than_alone(void **state)
{
	(void)state;
	assert_int_equal(running_after(FIRST - 1), 0);
	assert_int_equal(__builtin_popcount(running_after(FIRST)), 1);
}

static void others_follow_in_a_long_gap(void **state)
{
	(void)state;
	assert_int_equal(__builtin_popcount(running_after(BESIDE - 1)), 1);
	until(now + 1);
	assert_int_equal(running(), 7);
}

/* The next gang follows at once, because the hold of all is over, and then one after the other. */
static void next_follows_when_the_work_ends(void **state)
{
	unsigned one = running_after(FIRST + 1 * MS), two;
	core_id first = low[__builtin_ctz(one)];

	(void)state;
	play_idle(first, GPU);
	until(now);
	two = running();
	assert_int_equal(__builtin_popcount(two & ~one), 1);
	core_remove(core, low[__builtin_ctz(two & ~one)]);
	until(now);
	assert_int_equal(play_state(low[__builtin_ctz(7 & ~two)]), CORE_RUNNING);
}

/* A gang that an operator has suspended runs in no gap. */
static void a_request_is_no_turn(void **state)
{
	(void)state;
	for (int i = 0; i < GANGS; i++)
		if (i != 1)
			core_set_lease(core, low[i], now + 100 * S);
	until(now);
	assert_int_equal(running_after(FIRST), 2);
}

static void contended_gangs_have_no_turn(void **state)
{
	core_id other = play_add(15);

	(void)state;
	play_active(low[0], OTHER_GPU);
	play_active(low[2], OTHER_GPU);
	play_active(other, OTHER_GPU);
	assert_int_equal(running_after(FIRST), 2);
}

/* low[0] is first in turn until it is contended on another GPU, at the moment when a gang is due.
 * That low[0] has not been evaluated yet must not let low[1] wait for it. */
static void a_gang_that_is_contended_now_has_no_turn(void **state)
{
	core_id other = play_add(15);

	(void)state;
	play_active(low[0], OTHER_GPU);
	request();
	until(now + FIRST - 1);
	assert_int_equal(running(), 0);
	now++;
	core_set_capability(core, low[1], CORE_ABLE); /* evaluated before low[0] */
	play_active(other, OTHER_GPU);
	until(now);
	assert_int_equal(running(), 2);
}

/* The gaps are too short for low[0], which must not keep the others from them. */
static void gangs_that_wait_longer_have_no_turn(void **state)
{
	unsigned last = 0;

	(void)state;
	first_costs = 10 * COST;
	for (int i = 0; i < 3 * GANGS; i++) {
		unsigned one = running_after(FIRST + 1 * MS);

		assert_true(one == 2 || one == 4);
		assert_int_not_equal(one, last);
		last = one;
	}
}

/* If low[0] has to be held over a little longer, the others wait for it, because that costs less
 * than one more suspension. */
static void gangs_that_wait_little_longer_have_turns(void **state)
{
	(void)state;
	first_costs = COST + COST / 8;
	assert_int_equal(running_after(FIRST + FIRST / 2), 1);
}

/* In a gap that is long enough for low[0] it does not wait for the gangs that began to run in this
 * gap before it, because they are behind it in turn. */
static void gangs_behind_do_not_keep_a_turn(void **state)
{
	(void)state;
	first_costs = 10 * COST;
	assert_int_equal(running_after(10 * FIRST - 1), 6);
	until(now + 1);
	assert_int_equal(running(), 7);
}

/* A passive client may have no work, so it neither takes a turn nor waits for one. */
static void victim_only_gangs_have_no_turn(void **state)
{
	unsigned last = 0;

	(void)state;
	core_set_victim_only(core, low[0]);
	for (int i = 0; i < 4; i++) {
		unsigned all = running_after(FIRST + 1 * MS);

		assert_true(all == 3 || all == 5);
		assert_int_not_equal(all, last);
		last = all;
	}
}

/* A client that is leaving is not suspended, so it takes no turn. */
static void gangs_in_teardown_have_no_turn(void **state)
{
	(void)state;
	core_set_teardown(core, low[0], true);
	assert_int_equal(__builtin_popcount(running_after(FIRST) & ~1u), 1);
}

/* A gang that runs while others are held does not take part in their turns. */
static void others_that_go_on_have_no_turn(void **state)
{
	(void)state;
	core_set_capability(core, low[0], CORE_REFUSED);
	assert_int_equal(__builtin_popcount(running_after(FIRST) & ~1u), 1);
}

/* The same holds for a group that cannot be held because of one of its clients. */
static void groups_that_go_on_have_no_turn(void **state)
{
	core_id rank[2];

	(void)state;
	core_remove(core, low[0]);
	for (int i = 0; i < 2; i++) {
		rank[i] = core_add(core, 1, 7, 2, now);
		core_set_capability(core, rank[i], i ? CORE_ABLE : CORE_REFUSED);
		play_active(rank[i], GPU);
	}
	low[0] = rank[1];
	assert_int_equal(__builtin_popcount(running_after(FIRST) & ~1u), 1);
}

static void other_priorities_do_not_wait(void **state)
{
	core_id lower = play_add(1);

	(void)state;
	play_active(lower, GPU);
	for (int i = 1; i < GANGS; i++)
		play_idle(low[i], GPU);
	for (int i = 0; i < 2; i++) { /* in the second round `lower` has been held for longer */
		request();
		until(now + FIRST);
		assert_true(runs(low[0]));
		assert_false(runs(lower)); /* low[0] contends with it */
	}
	play_idle(low[0], GPU);
	until(now + FIRST);
	assert_true(runs(lower));
}

static void nodes_have_turns_of_their_own(void **state)
{
	core_id other = play_add(15);

	(void)state;
	play_idle(low[0], GPU);
	play_active(low[0], OTHER_GPU);
	play_active(other, OTHER_GPU);
	play_active(high, GPU);
	until(now + 10 * MS);
	play_idle(other, OTHER_GPU);
	play_idle(high, GPU);
	until(now + FIRST);
	assert_true(runs(low[0]));
	assert_int_equal(__builtin_popcount(running() & ~1u), 1);
}

/* Gangs of different tenants are not held for the same work. */
static void tenants_have_turns_of_their_own(void **state)
{
	core_id busy = core_add(core, 2, 0, 2, now);

	(void)state;
	core_set_capability(core, busy, CORE_ABLE);
	play_active(busy, GPU);
	assert_int_equal(__builtin_popcount(running_after(FIRST)), 1);
	assert_true(runs(busy));
}

static void groups_have_one_turn(void **state)
{
	core_id rank[2];

	(void)state;
	core_remove(core, low[0]);
	core_remove(core, low[1]);
	for (int i = 0; i < 2; i++) {
		rank[i] = core_add(core, 1, 7, 2, now);
		core_set_capability(core, rank[i], CORE_ABLE);
		play_active(rank[i], GPU);
	}
	for (int i = 0; i < 4; i++) {
		request();
		until(now + FIRST + 1 * MS);
		assert_int_equal(runs(rank[0]), runs(rank[1]));
		assert_int_equal(runs(rank[0]), !runs(low[2]));
	}
}

static void without_hold_over_there_are_none(void **state)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	(void)state;
	config.hold_over = false;
	core_configure(core, &config);
	assert_int_equal(running_after(0), 7);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(one_runs_in_each_gap_in_turn),
		HERE(none_runs_sooner_than_alone),
		HERE(others_follow_in_a_long_gap),
		HERE(next_follows_when_the_work_ends),
		HERE(a_request_is_no_turn),
		HERE(contended_gangs_have_no_turn),
		HERE(a_gang_that_is_contended_now_has_no_turn),
		HERE(gangs_that_wait_longer_have_no_turn),
		HERE(gangs_that_wait_little_longer_have_turns),
		HERE(gangs_behind_do_not_keep_a_turn),
		HERE(victim_only_gangs_have_no_turn),
		HERE(gangs_in_teardown_have_no_turn),
		HERE(others_that_go_on_have_no_turn),
		HERE(groups_that_go_on_have_no_turn),
		HERE(other_priorities_do_not_wait),
		HERE(nodes_have_turns_of_their_own),
		HERE(tenants_have_turns_of_their_own),
		HERE(groups_have_one_turn),
		HERE(without_hold_over_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
