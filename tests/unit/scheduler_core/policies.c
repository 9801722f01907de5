// SPDX-License-Identifier: MIT
/* Proves how each node policy decides (share, deadline and observe; every other test covers
 * strict), that each node has its own policy, and that a lease works beside them. */
#include "tests/unit/scheduler_core/play.h"

#define PERCENT 30

static core_id low, high;

static void start(const struct core_policy *policy)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	config.hold_over = false;
	config.policy = *policy;
	core_configure(core, &config);
	now = 1000 * S; /* the start of a window */
	low = play_add(2);
	high = play_add(15);
	play_active(low, GPU);
}

/* In each window the client is held, in one piece, for the part that is not its share. */
static void share_of_each_window(void **state)
{
	(void)state;
	start(&(struct core_policy){POLICY_share, PERCENT});
	play_active(high, GPU);
	for (int window = 0; window < 3; window++) {
		uint64_t begin = now;

		play_expect(CORE_SUSPEND, low);
		play_done(low);
		play_expect_nothing();
		/* Once the duration of a resume is known, it is taken from the time on hold and not
		 * from the client's share. */
		assert_int_equal(deadline, begin + (window ? 699 : 700) * MS);
		now = deadline - 1;
		play_expect_nothing();
		now++;
		play_expect(CORE_RESUME, low);
		assert_false(actions[0].prompt);
		now += 1 * MS;
		play_done(low);
		play_expect_nothing();
		assert_int_equal(deadline, begin + 1 * S);
		now = deadline;
	}
}

/* All holds count, also those that continue over the end of a window. */
static void share_is_added_up(void **state)
{
	(void)state;
	start(&(struct core_policy){POLICY_share, PERCENT});
	for (int i = 0; i < 3; i++) {
		play_active(high, GPU);
		play_expect(CORE_SUSPEND, low);
		play_done(low);
		now += 200 * MS;
		play_idle(high, GPU);
		play_expect(CORE_RESUME, low);
		play_done(low);
		now += 50 * MS;
	}
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_expect_nothing();
	assert_int_equal(deadline, now + 99 * MS);
	now = deadline;
	play_expect(CORE_RESUME, low);
	now += 1 * MS;
	play_done(low);
	play_expect_nothing();
	now = 1001 * S;
	play_expect(CORE_SUSPEND, low);
}

/* A client counts as held until its resume has finished. */
static void share_counts_the_way_back(void **state)
{
	uint64_t begin;

	(void)state;
	start(&(struct core_policy){POLICY_share, PERCENT});
	begin = now;
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	now += 100 * MS;
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
	now += 50 * MS;
	core_finished(core, low, 0, 50 * MS, now);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_expect_nothing();
	/* 700 ms in all, of which 150 ms have passed and the resume will take 50 ms */
	assert_int_equal(deadline, begin + 650 * MS);
}

/* A client that must not run on one node (strict) gets no share on another node. */
static void strict_precedes_share(void **state)
{
	(void)state;
	start(&(struct core_policy){POLICY_share, PERCENT});
	assert_true(core_set_policy(core, OTHER_GPU, &(struct core_policy){POLICY_strict, 0}));
	play_active(low, OTHER_GPU);
	play_active(high, GPU);
	play_active(high, OTHER_GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	now += 900 * MS;
	play_expect_nothing();
	play_idle(high, OTHER_GPU);
	play_expect(CORE_RESUME, low);
}

/* Plays requests of 10 ms with pauses of 20 ms. */
static void learn_requests(void)
{
	for (int i = 0; i < 100; i++) {
		play_active(high, GPU);
		if (play_decide())
			play_done(low);
		now += 10 * MS;
		play_idle(high, GPU);
		if (play_decide())
			play_done(low);
		now += 20 * MS;
	}
}

static void deadline_leaves_slack(void **state)
{
	struct core_view view;
	uint64_t begun;

	(void)state;
	start(&(struct core_policy){POLICY_deadline, 0});
	core_set_slo(core, high, 100 * MS);
	learn_requests();
	assert_true(core_view_client(core, high, now, &view));
	assert_true(view.request_ns >= 10 * MS && view.request_ns < 11 * MS);
	begun = now;
	play_active(high, GPU);
	play_expect_nothing();
	assert_true(deadline > begun + 85 * MS && deadline < begun + 90 * MS);
	now = deadline;
	play_expect(CORE_SUSPEND, low);
	assert_false(actions[0].prompt);
	play_done(low);
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
	play_done(low);
	/* A request that ends in time causes no suspension. */
	play_active(high, GPU);
	play_expect_nothing();
	now += 50 * MS;
	play_idle(high, GPU);
	play_expect_nothing();
	assert_int_equal(deadline, CORE_NEVER);
}

/* deadline acts as strict if there is no objective, an objective that the requests do not meet
 * anyway, or no known request. */
static void deadline_without_slack_is_strict(void **state)
{
	(void)state;
	start(&(struct core_policy){POLICY_deadline, 0});
	core_set_slo(core, high, 100 * MS);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
	play_done(low);
	learn_requests();
	core_set_slo(core, high, 5 * MS);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	core_set_slo(core, high, 100 * MS);
	play_expect(CORE_RESUME, low);
	play_done(low);
	core_set_slo(core, high, 0);
	play_expect(CORE_SUSPEND, low);
}

/* The deadline of a request does not move if its client is suspended. */
static void deadline_of_the_suspended_client(void **state)
{
	uint64_t begun;
	core_id top;

	(void)state;
	start(&(struct core_policy){POLICY_deadline, 0});
	core_set_priority(core, high, 9);
	core_set_slo(core, high, 100 * MS);
	learn_requests();
	top = play_add(15);
	begun = now;
	play_active(high, GPU);
	play_expect_nothing();
	now += 10 * MS;
	play_active(top, GPU);
	assert_int_equal(play_decide(), 2);
	play_done(high);
	play_done(low);
	now += 10 * MS;
	play_idle(top, GPU);
	assert_int_equal(play_decide(), 2);
	play_done(high);
	play_done(low);
	play_expect_nothing();
	assert_true(deadline > begun + 85 * MS && deadline < begun + 90 * MS);
	now = deadline;
	play_expect(CORE_SUSPEND, low);
}

static bool is_observed(void)
{
	struct core_view view;

	assert_true(core_view_client(core, low, now, &view));
	return view.observed && !view.contended;
}

/* The gang runs for its share beside one client, and the objective of another one on another node
 * comes due meanwhile. */
static void an_objective_ends_a_share(void **state)
{
	core_id late = play_add(15);

	(void)state;
	start(&(struct core_policy){POLICY_share, PERCENT});
	assert_true(core_set_policy(core, OTHER_GPU, &(struct core_policy){POLICY_deadline, 0}));
	core_set_slo(core, late, 100 * MS);
	for (int i = 0; i < 8; i++) { /* until the duration of a request is known */
		play_active(late, OTHER_GPU);
		now += 10 * MS;
		play_idle(late, OTHER_GPU);
	}
	play_active(low, OTHER_GPU);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_expect_nothing();
	now = deadline;
	play_expect(CORE_RESUME, low);
	play_done(low);
	play_active(late, OTHER_GPU);
	play_expect_nothing();
	assert_true(deadline < now + 100 * MS);
	now = deadline;
	play_expect(CORE_SUSPEND, low);
}

static void observe_holds_no_client(void **state)
{
	(void)state;
	start(&(struct core_policy){POLICY_observe, 0});
	assert_false(is_observed());
	play_active(high, GPU);
	play_expect_nothing();
	assert_int_equal(deadline, CORE_NEVER);
	assert_true(is_observed());
	play_idle(high, GPU);
	play_expect_nothing();
	assert_false(is_observed());
	play_active(high, GPU);
	play_active(low, OTHER_GPU);
	play_active(high, OTHER_GPU);
	play_expect_nothing();
	assert_true(core_set_policy(core, OTHER_GPU, &(struct core_policy){POLICY_strict, 0}));
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	/* The configuration is read again and has no line for this node any more. */
	start(&(struct core_policy){POLICY_observe, 0});
	assert_int_equal(play_decide(), 1);
	assert_int_equal(actions[0].op, CORE_RESUME);
}

/* Sets the policy of a node more often than there is room for nodes. GPU id 0 stands for all nodes
 * without a policy of their own. */
static void policies_are_replaced(void **state)
{
	(void)state;
	start(&(struct core_policy){POLICY_strict, 0});
	for (uint32_t i = 0; i < 2 * CORE_POLICIES; i++)
		assert_true(core_set_policy(core, GPU,
					    &(struct core_policy){POLICY_share, i % 99 + 1}));
	assert_int_equal(core_policy_of(core, GPU).share_percent, (2 * CORE_POLICIES - 1) % 99 + 1);
	assert_int_equal(core_policy_of(core, OTHER_GPU).rule, POLICY_strict);
	assert_true(core_set_policy(core, GPU, &(struct core_policy){POLICY_observe, 0}));
	play_active(high, GPU);
	play_expect_nothing();
	play_active(low, OTHER_GPU);
	assert_true(core_set_policy(core, 0, &(struct core_policy){POLICY_observe, 0}));
	play_active(high, OTHER_GPU);
	play_expect_nothing();
	assert_true(core_set_policy(core, 0, &(struct core_policy){POLICY_strict, 0}));
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	assert_true(core_set_policy(core, OTHER_GPU, &(struct core_policy){POLICY_observe, 0}));
	assert_int_equal(play_decide(), 1);
	assert_int_equal(actions[0].op, CORE_RESUME);
	play_done(low);
	for (uint32_t gpu_id = 1000; gpu_id < 1000 + CORE_POLICIES - 2; gpu_id++)
		assert_true(core_set_policy(core, gpu_id, &(struct core_policy){POLICY_strict, 0}));
	assert_false(core_set_policy(core, 2000, &(struct core_policy){POLICY_strict, 0}));
	assert_true(core_set_policy(core, 0, &(struct core_policy){POLICY_strict, 0}));
}

static void lease(void **state)
{
	(void)state;
	start(&(struct core_policy){POLICY_observe, 0});
	play_idle(low, GPU);
	core_set_lease(core, low, now + 100 * S);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_expect_nothing();
	assert_int_equal(deadline, now + 100 * S); /* a lease has no other bound than its end */
	now += 50 * S;
	core_set_teardown(core, low, true);
	play_expect(CORE_RESUME, low);
	play_done(low);
	core_set_teardown(core, low, false);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	now += 50 * S;
	play_expect(CORE_RESUME, low);
	play_done(low);
	core_set_lease(core, low, now + 1 * S);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	core_set_lease(core, low, 0);
	play_expect(CORE_RESUME, low);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAY(share_of_each_window),
		PLAY(share_is_added_up),
		PLAY(share_counts_the_way_back),
		PLAY(strict_precedes_share),
		PLAY(deadline_leaves_slack),
		PLAY(deadline_without_slack_is_strict),
		PLAY(deadline_of_the_suspended_client),
		PLAY(an_objective_ends_a_share),
		PLAY(observe_holds_no_client),
		PLAY(policies_are_replaced),
		PLAY(lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
