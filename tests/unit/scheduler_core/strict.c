// SPDX-License-Identifier: MIT
/* Proves: a less urgent client is suspended while, and only while, a more urgent one of its tenant
 * is active on a node on which the less urgent one is active, too. */
#include "tests/unit/scheduler_core/play.h"

static void active_preempts_active(void **state)
{
	core_id low = play_add(2);
	core_id high = play_add(15);

	(void)state;
	play_active(low, GPU);
	play_expect_nothing();
	assert_int_equal(deadline, CORE_NEVER);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	assert_true(actions[0].prompt);
	play_expect_nothing(); /* one action is in flight */
	play_idle(high, GPU);
	play_expect_nothing(); /* the suspend is still in flight */
	play_done(low);
	play_expect(CORE_RESUME, low);
	play_done(low);
	assert_int_equal(play_state(low), CORE_RUNNING);
}

static void idle_is_left_alone_until_it_works(void **state)
{
	core_id low = play_add(2);
	core_id high = play_add(15);

	(void)state;
	play_active(high, GPU);
	play_idle(low, GPU);
	play_expect_nothing();
	play_active(low, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	/* A suspended queue can look idle. That is no reason to resume it. */
	play_idle(low, GPU);
	play_expect_nothing();
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
}

/* A change of priority changes what counts for and against the client, and nothing else of it. */
static void a_priority_may_change(void **state)
{
	core_id low = play_add(2);
	core_id high = play_add(15);

	(void)state;
	play_active(low, GPU);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	core_set_priority(core, low, 15);
	play_expect(CORE_RESUME, low);
	play_done(low);
	play_expect_nothing();
	core_set_priority(core, high, 3);
	play_expect(CORE_SUSPEND, high);
	play_done(high);
	core_set_priority(core, low, CORE_PRIORITY_UNSET);
	play_expect(CORE_RESUME, high);
	play_done(high);
	core_set_priority(core, high, 99); /* not a valid priority, so nothing changes */
	core_set_priority(core, low, 2);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
	play_done(low);
	play_expect_nothing();
}

static void nodes_are_apart(void **state)
{
	core_id low = play_add(2);
	core_id high = play_add(15);

	(void)state;
	play_active(low, GPU);
	play_active(high, OTHER_GPU);
	play_expect_nothing();
	play_active(low, OTHER_GPU);
	play_expect(CORE_SUSPEND, low);
}

/* 128 nodes, as two machines with eight MI300X in mode CPX have. The clients are active on each in
 * turn, also while the less urgent one is in another group, and each node has its own policy. */
static void many_nodes_are_apart(void **state)
{
	const struct core_policy observe = {.rule = POLICY_observe};
	const struct core_rights rights = {.tenant = 1};
	core_id low = play_add(2), high = play_add(15);

	(void)state;
	for (uint32_t n = 0; n < 128; n++)
		play_idle(low, GPU + n);
	for (uint32_t n = 128; n-- > 0;) {
		play_active(low, GPU + n);
		play_active(high, GPU + n);
		play_expect(CORE_SUSPEND, low);
		play_done(low);
		play_expect_nothing();
		core_move(core, low, &rights, n, now);
		play_idle(high, GPU + n);
		play_expect(CORE_RESUME, low);
		play_done(low);
		play_idle(low, GPU + n);
		play_active(high, GPU + (n + 64) % 128);
		play_expect_nothing();
		play_idle(high, GPU + (n + 64) % 128);
		assert_true(core_set_policy(core, GPU + n, &observe));
		play_active(low, GPU + n);
		play_active(high, GPU + n);
		play_expect_nothing();
		play_idle(high, GPU + n);
		play_idle(low, GPU + n);
	}
}

static void tenants_are_apart(void **state)
{
	core_id low = play_add(2);
	core_id foreign = core_add(core, 2, 0, 15, now);

	(void)state;
	play_active(low, GPU);
	play_active(foreign, GPU);
	play_expect_nothing();
}

static void equals_share(void **state)
{
	core_id a = play_add(7);
	core_id b = play_add(7);

	(void)state;
	play_active(a, GPU);
	play_active(b, GPU);
	play_expect_nothing();
}

static void unset_is_never_scheduled(void **state)
{
	core_id unset = play_add(CORE_PRIORITY_UNSET);
	core_id zero = play_add(0);
	core_id high = play_add(15);

	(void)state;
	play_active(unset, GPU);
	play_active(zero, GPU);
	play_expect_nothing(); /* the client without priority does not preempt */
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, zero); /* and is not preempted */
}

/* A passive client can be held as any other, but never holds another, even if its priority
 * changes. */
static void victim_only_clients_hold_no_client(void **state)
{
	core_id low = play_add(2);
	core_id victim_only = play_add(9);
	core_id high = play_add(15);

	(void)state;
	play_active(low, GPU);
	play_active(victim_only, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	core_set_victim_only(core, victim_only);
	play_expect(CORE_RESUME, low);
	play_done(low);
	core_set_priority(core, victim_only, 14);
	play_idle(victim_only, GPU);
	play_active(victim_only, GPU);
	play_expect_nothing();
	play_active(high, GPU);
	assert_int_equal(play_decide(), 2);
	play_done(low);
	play_done(victim_only);
	play_idle(high, GPU);
	assert_int_equal(play_decide(), 2);
	play_done(low);
	play_done(victim_only);
	play_expect_nothing();
}

static void the_suspended_preempt_no_client(void **state)
{
	core_id high = play_add(15);
	core_id middle = play_add(8);
	core_id low = play_add(2);

	(void)state;
	play_active(low, OTHER_GPU);
	play_active(middle, GPU);
	play_active(middle, OTHER_GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_active(high, GPU);
	/* `middle` leaves both nodes, so `low` can run on the other one */
	assert_int_equal(play_decide(), 2);
	assert_int_equal(actions[0].client, middle);
	assert_int_equal(actions[0].op, CORE_SUSPEND);
	assert_int_equal(actions[1].client, low);
	assert_int_equal(actions[1].op, CORE_RESUME);
	play_done(middle);
	play_done(low);
	play_idle(high, GPU);
	assert_int_equal(play_decide(), 2); /* the previous state returns */
	assert_int_equal(play_state(middle), CORE_RESUMING);
	assert_int_equal(play_state(low), CORE_SUSPENDING);
}

/* A client that was held for `middle` stays held for `high`. This saves two runlist updates
 * ("bounces"). */
static void the_most_urgent_is_resumed_first(void **state)
{
	core_id high = play_add(15);
	core_id middle = play_add(8);
	core_id low = play_add(2);

	(void)state;
	play_active(middle, GPU);
	play_active(low, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, middle);
	play_done(middle);
	play_expect_nothing();
	play_idle(high, GPU);
	play_expect(CORE_RESUME, middle);
	play_done(middle);
	play_expect_nothing();
	play_idle(middle, GPU);
	play_expect(CORE_RESUME, low);
}

static void the_dead_contend_with_no_client(void **state)
{
	core_id low = play_add(2);
	core_id high = play_add(15);

	(void)state;
	play_active(low, GPU);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	core_remove(core, high);
	play_expect(CORE_RESUME, low);
	core_remove(core, low);
	play_done(low); /* a late result of a removed client */
	play_expect_nothing();
	assert_int_equal(play_add(2) == low, 0);
}

static void rooms_end(void **state)
{
	core_id c = 0;

	(void)state;
	assert_int_equal(core_add(core, 1, 0, 16, now), 0);
	assert_int_equal(core_add(core, 1, 0, -2, now), 0);
	for (int i = 0; i < 64; i++)
		c = play_add(2);
	assert_int_equal(core_add(core, 1, 0, 2, now), 0);
	for (uint32_t gpu = 1; gpu <= CORE_NODES; gpu++)
		play_active(c, gpu);
	assert_false(core_set_activity(core, c, CORE_NODES + 1, true, now));
	core_remove(core, c);
	assert_int_not_equal(core_add(core, 1, 0, 2, now), 0);
}

/* As many clients as a daemon can have, each on the maximum of nodes, with room for fewer actions
 * than are needed: no action is left out, and no state remains. */
static void full_house(void **state)
{
	enum { CLIENTS = 1024, NODES = CORE_NODES };
	const struct core_config config = {.slow_suspend_ns = 1 * S,
					   .max_suspended_ns = 30 * S,
					   .min_run_ns = 200 * MS,
					   .share_window_ns = 1 * S,
					   .policy = {.rule = POLICY_strict}};
	static core_id clients[CLIENTS];
	uint32_t suspended;
	size_t done = 0;
	bool urgent;

	(void)state;
	core_destroy(core);
	core = core_create(&config, CLIENTS);
	assert_non_null(core);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		clients[i] = play_add(i ? (int)(i % 15) : 15);
		for (uint32_t gpu = 1; gpu <= NODES; gpu++)
			if (i)
				play_active(clients[i], gpu);
	}
	/* The most urgent client works, so all others are suspended. */
	play_active(clients[0], NODES);
	while (play_decide()) {
		for (size_t i = 0; i < action_count; i++) {
			assert_int_equal(actions[i].op, CORE_SUSPEND);
			play_done(actions[i].client);
		}
		done += action_count;
	}
	assert_int_equal(done, CLIENTS - 1);
	core_view_node(core, 1, &urgent, &suspended);
	assert_int_equal(suspended, CLIENTS - 1);
	for (uint32_t i = 0; i < CLIENTS; i++)
		core_remove(core, clients[i]);
	play_expect_nothing();
	assert_int_equal(deadline, CORE_NEVER);
	core_view_node(core, 1, &urgent, &suspended);
	assert_int_equal(suspended, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAY(active_preempts_active),
		PLAY(idle_is_left_alone_until_it_works),
		PLAY(a_priority_may_change),
		PLAY(nodes_are_apart),
		PLAY(many_nodes_are_apart),
		PLAY(tenants_are_apart),
		PLAY(equals_share),
		PLAY(unset_is_never_scheduled),
		PLAY(victim_only_clients_hold_no_client),
		PLAY(the_suspended_preempt_no_client),
		PLAY(the_dead_contend_with_no_client),
		PLAY(rooms_end),
		PLAY(the_most_urgent_is_resumed_first),
		PLAY(full_house),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
