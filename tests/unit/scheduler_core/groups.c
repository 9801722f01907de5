// SPDX-License-Identifier: MIT
/* Proves: the clients of a group are held and released together, on whatever nodes they work; the
 * group has the priority of its most urgent client; no client of the group is held if one of them
 * cannot be. Those that work on one GPU return to it one after the other, so that work which begins
 * meanwhile waits for one of them only. While any client of a group works, the group counts as
 * active, and contends with others, on all nodes of its clients. */
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

static void expect_all(enum core_op op, int n)
{
	assert_int_equal(play_decide(), n);
	for (int i = 0; i < n; i++)
		assert_int_equal(actions[i].op, op);
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
static void a_deadline_is_of_the_working_client(void **state)
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
	assert_true(core_view_client(core, rank[0], now, &view));
	assert_true(view.blocked_by_member && view.contended && !view.held);
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

/* Makes new ranks, which all work on one GPU, and holds them. */
static void hold_on_one_gpu(void)
{
	for (unsigned i = 0; i < RANKS; i++) {
		core_remove(core, rank[i]);
		rank[i] = add(7, 2);
		play_active(rank[i], 1);
	}
	play_active(high, 1);
	expect_all(CORE_SUSPEND, RANKS);
	all_done();
}

/* Returns the rank whose resume is the only action of a decision now. */
static unsigned resumed(void)
{
	expect_all(CORE_RESUME, 1);
	for (unsigned i = 0; i < RANKS; i++)
		if (actions[0].client == rank[i])
			return i;
	fail();
	return 0;
}

/* The driver makes the calls on a GPU one after the other, so they are issued like that. */
static void those_of_a_gpu_return_in_turn(void **state)
{
	unsigned seen = 0;

	(void)state;
	hold_on_one_gpu();
	play_idle(high, 1);
	for (int i = 0; i < RANKS; i++) {
		unsigned at = resumed();

		play_expect_nothing();
		seen |= 1u << at;
		play_done(rank[at]);
	}
	assert_int_equal(seen, (1u << RANKS) - 1);
	play_expect_nothing();
	assert_int_equal(deadline, CORE_NEVER);
}

/* A request that begins during the first resume waits for that one and its suspend, and not for
 * those of the other ranks. */
static void a_request_stops_the_rest(void **state)
{
	unsigned first;

	(void)state;
	hold_on_one_gpu();
	play_idle(high, 1);
	first = resumed();
	play_active(high, 1);
	play_expect_nothing();
	play_done(rank[first]);
	play_expect(CORE_SUSPEND, rank[first]);
	play_done(rank[first]);
	play_expect_nothing();
	for (int i = 0; i < RANKS; i++)
		assert_int_equal(play_state(rank[i]), CORE_SUSPENDED);
}

/* Neither a resume that fails, nor a client that dies during its resume, keeps the others. */
static void a_lost_resume_keeps_no_other(void **state)
{
	unsigned first, second;

	(void)state;
	hold_on_one_gpu();
	play_idle(high, 1);
	first = resumed();
	core_finished(core, rank[first], -EIO, 1 * MS, now);
	second = resumed();
	assert_int_not_equal(first, second);
	core_remove(core, rank[second]);
	play_done(rank[resumed()]);
	play_done(rank[resumed()]);
	play_expect_nothing();
	assert_int_equal(deadline, now + CORE_RETRY_NS);
	now = deadline;
	assert_int_equal(resumed(), first);
}

/* What a rank in a teardown call waits for is its own resume. */
static void leaving_waits_for_no_other(void **state)
{
	unsigned first, other;

	(void)state;
	hold_on_one_gpu();
	play_idle(high, 1);
	first = resumed();
	other = (first + 1) % RANKS;
	core_set_teardown(core, rank[other], true);
	assert_int_equal(resumed(), other);
}

/* A client that leaves is released alone, because only its own call would block. */
static void teardown_is_ones_own(void **state)
{
	(void)state;
	play_active(high, 1);
	expect_all(CORE_SUSPEND, RANKS);
	all_done();
	core_set_teardown(core, rank[1], true);
	play_expect(CORE_RESUME, rank[1]);
	play_done(rank[1]);
	play_expect_nothing();
	core_set_teardown(core, rank[1], false);
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
		HERE(a_deadline_is_of_the_working_client),
		HERE(each_that_works_has_its_deadline),
		HERE(newcomers_too),
		HERE(one_that_cannot_be),
		HERE(a_failure_is_everybodys),
		HERE(teardown_is_ones_own),
		HERE(those_of_a_gpu_return_in_turn),
		HERE(a_request_stops_the_rest),
		HERE(a_lost_resume_keeps_no_other),
		HERE(leaving_waits_for_no_other),
		HERE(the_most_urgent_speaks_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
