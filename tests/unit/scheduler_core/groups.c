// SPDX-License-Identifier: MIT
/* Proves: the clients of a group are held and released together, on whatever nodes they work; the
 * group has the priority of its most urgent client; no client of the group is held if one of them
 * cannot be. While any client of a group works, the group counts as active, and contends with
 * others, on all nodes of its clients. */
#include "tests/unit/scheduler_core/play.h"

#define RANKS 4

static core_id rank[RANKS], high;

static core_id add(unsigned group, int priority)
{
	core_id c = core_add(core, 1, group, priority, now);

	assert_int_not_equal(c, 0);
	core_set_capability(core, c, CORE_ABLE);
	return c;
}

/* Each rank works on a node of its own; `high` is on the node of the first. */
static int setup(void **state)
{
	if (play_setup(state))
		return -1;
	for (unsigned i = 0; i < RANKS; i++) {
		rank[i] = add(7, 2);
		play_active(rank[i], 1 + i);
	}
	high = play_add(15);
	return 0;
}

static void expect_all(enum core_verb verb, int n)
{
	assert_int_equal(play_decide(), n);
	for (int i = 0; i < n; i++)
		assert_int_equal(actions[i].verb, verb);
}

static void all_done(void)
{
	for (int i = 0; i < RANKS; i++)
		play_done(rank[i]);
}

static void together(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		play_active(high, 1);
		expect_all(CORE_SUSPEND, RANKS);
		all_done();
		play_idle(high, 1);
		expect_all(CORE_RESUME, RANKS);
		all_done();
	}
}

/* A rank with nothing in flight is not suspended until it has work. */
static void idle_ranks_follow(void **state)
{
	(void)state;
	play_idle(rank[3], 4);
	play_active(high, 1);
	expect_all(CORE_SUSPEND, RANKS - 1);
	all_done();
	play_active(rank[3], 4);
	play_expect(CORE_SUSPEND, rank[3]);
	play_done(rank[3]);
	play_idle(high, 1);
	expect_all(CORE_RESUME, RANKS);
}

/* The idle ranks wait for the one that works. Their nodes count, because the working rank will need
 * them. */
static void an_idle_rank_has_its_node(void **state)
{
	(void)state;
	for (unsigned i = 1; i < RANKS; i++)
		play_idle(rank[i], 1 + i);
	play_active(high, 3);
	play_expect(CORE_SUSPEND, rank[0]);
	play_done(rank[0]);
	play_idle(high, 3);
	play_expect(CORE_RESUME, rank[0]);
	play_done(rank[0]);
	play_idle(rank[0], 1);
	play_active(high, 3);
	play_expect_nothing();
}

/* While any client of an urgent group works, the group is active on all its nodes. */
static void an_urgent_group_has_all_its_nodes(void **state)
{
	core_id online[2] = {add(9, 15), add(9, 15)}, low = play_add(1);

	(void)state;
	play_active(online[1], 21);
	play_idle(online[1], 21);
	play_active(low, 21);
	play_expect_nothing();
	play_active(online[0], 20);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_idle(online[0], 20);
	play_expect(CORE_RESUME, low);
	play_done(low);
	play_active(online[0], 20);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	core_remove(core, online[0]); /* its activity ends with it */
	play_expect(CORE_RESUME, low);
}

/* The deadline of an online client also applies on nodes where only others of its group have
 * queues: a request that uses a group has one objective. */
static void a_deadline_is_of_who_works(void **state)
{
	core_id online[2] = {add(9, 15), add(9, 15)}, low = play_add(1);

	(void)state;
	assert_true(core_set_policy(core, 21, &(struct core_policy){.rule = POLICY_deadline}));
	core_set_slo(core, online[0], 100 * MS);
	for (int i = 0; i < 8; i++) { /* until the duration of a request is known */
		play_active(online[0], 20);
		now += 10 * MS;
		play_idle(online[0], 20);
	}
	play_active(online[1], 21);
	play_idle(online[1], 21);
	now += 10 * S;
	play_active(low, 21);
	play_active(online[0], 20);
	play_expect_nothing(); /* the request still has slack */
	assert_true(deadline > now && deadline < now + 100 * MS);
	now = deadline;
	play_expect(CORE_SUSPEND, low);
}

/* A second client of the online group, without an objective, begins to work on a node on which the
 * group counts as active already. */
static void each_that_works_has_its_deadline(void **state)
{
	core_id online[2] = {add(9, 15), add(9, 15)}, low = play_add(1);

	(void)state;
	assert_true(core_set_policy(core, 21, &(struct core_policy){.rule = POLICY_deadline}));
	core_set_slo(core, online[0], 10 * S);
	for (int i = 0; i < 8; i++) {
		play_active(online[0], 20);
		now += 10 * MS;
		play_idle(online[0], 20);
	}
	play_active(online[1], 21);
	play_idle(online[1], 21);
	play_active(low, 21);
	play_active(online[0], 20);
	play_expect_nothing();
	play_active(online[1], 21);
	play_expect(CORE_SUSPEND, low);
}

static void newcomers_too(void **state)
{
	core_id late;

	(void)state;
	play_active(high, 1);
	expect_all(CORE_SUSPEND, RANKS);
	all_done();
	late = add(7, 2);
	play_active(late, 9);
	play_expect(CORE_SUSPEND, late);
	play_done(late);
	/* A group with the same name of another tenant, and a client without a group, are not
	 * affected. */
	assert_int_not_equal(core_add(core, 2, 7, 2, now), 0);
	play_active(add(0, 2), 9);
	play_expect_nothing();
	core_remove(core, rank[0]); /* the client on whose node the group was contended */
	expect_all(CORE_RESUME, RANKS);
}

static void one_that_cannot_be(void **state)
{
	struct core_view view;

	(void)state;
	core_set_capability(core, rank[2], CORE_REFUSED);
	play_active(high, 1);
	play_expect_nothing();
	assert_true(core_look(core, rank[0], now, &view));
	assert_true(view.hindered && view.pressed && !view.held);
	core_set_capability(core, rank[2], CORE_ABLE);
	expect_all(CORE_SUSPEND, RANKS);
	all_done();
	core_set_capability(core, rank[2], CORE_REFUSED);
	expect_all(CORE_RESUME, RANKS);
	all_done();
	core_remove(core, rank[2]);
	expect_all(CORE_SUSPEND, RANKS - 1);
}

static void a_failure_is_everybodys(void **state)
{
	(void)state;
	play_active(high, 1);
	expect_all(CORE_SUSPEND, RANKS);
	for (int i = 0; i < RANKS; i++)
		core_finished(core, rank[i], i == 1 ? -EIO : 0, 1 * MS, now);
	expect_all(CORE_RESUME, RANKS);
	all_done();
	play_expect_nothing();
	assert_int_equal(deadline, CORE_NEVER);
}

/* A client that leaves is released alone, because only its own call would block. */
static void leaving_is_ones_own(void **state)
{
	(void)state;
	play_active(high, 1);
	expect_all(CORE_SUSPEND, RANKS);
	all_done();
	core_set_leaving(core, rank[1], true);
	play_expect(CORE_RESUME, rank[1]);
	play_done(rank[1]);
	play_expect_nothing();
	core_set_leaving(core, rank[1], false);
	now += CORE_RETRY_NS;
	play_expect(CORE_SUSPEND, rank[1]);
}

static void the_most_urgent_speaks_for_all(void **state)
{
	(void)state;
	play_active(high, 1);
	expect_all(CORE_SUSPEND, RANKS);
	all_done();
	core_set_priority(core, rank[3], 15);
	expect_all(CORE_RESUME, RANKS);
	all_done();
	core_set_priority(core, rank[3], 2);
	expect_all(CORE_SUSPEND, RANKS);
	all_done();
	core_remove(core, high);
	expect_all(CORE_RESUME, RANKS);
	all_done();
	/* As a member of the group it does not contend with the other members. */
	play_active(add(7, 15), 2);
	play_expect_nothing();
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(together),
		HERE(idle_ranks_follow),
		HERE(an_idle_rank_has_its_node),
		HERE(an_urgent_group_has_all_its_nodes),
		HERE(a_deadline_is_of_who_works),
		HERE(each_that_works_has_its_deadline),
		HERE(newcomers_too),
		HERE(one_that_cannot_be),
		HERE(a_failure_is_everybodys),
		HERE(leaving_is_ones_own),
		HERE(the_most_urgent_speaks_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
