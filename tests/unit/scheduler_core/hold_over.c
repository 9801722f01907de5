// SPDX-License-Identifier: MIT
/* Proves: when more urgent work ends, a gang stays held for the time that gaps.h computes from the
 * gaps in that work on the nodes where the gang works or worked last, whatever happens on other
 * nodes. The computation uses the measured costs and the configured weight. It makes no difference
 * whether the gang itself had work when a gap began. */
#include "tests/unit/scheduler_core/play.h"

/* The cost of a resume is estimated by the suspend, which takes longer; a suspend counts twice
 * (weight 2). */
#define SUSPEND (6 * MS)
#define RESUME (4 * MS)
#define BOUND (3 * SUSPEND)

static core_id low, high;
static uint64_t suspend_ns = SUSPEND; /* duration of a suspend */

static void configure(uint32_t weight, const struct core_policy *policy)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	config.online_weight = weight;
	if (policy)
		config.policy = *policy;
	core_configure(core, &config);
}

static int setup(void **state)
{
	if (play_setup(state))
		return -1;
	configure(2, NULL);
	low = play_add(2);
	high = play_add(15);
	play_active(low, GPU);
	return 0;
}

static void finish(void)
{
	for (size_t i = 0; i < action_count; i++)
		core_finished(core, actions[i].client, 0,
			      actions[i].op == CORE_SUSPEND ? suspend_ns : RESUME, now);
}

/* Plays one gap. Returns the part of it, in ns, during which `low` is held. */
static uint64_t gap(uint64_t length)
{
	uint64_t begin = now, held = length;

	if (play_decide() == 0 && deadline < begin + length) {
		now = deadline;
		play_decide();
	}
	if (play_state(low) == CORE_RESUMING)
		held = now - begin;
	finish();
	now = begin + length;
	return held;
}

/* Plays a request of 50 ms and then a gap. */
static uint64_t request_on(uint32_t gpu_id, uint64_t length)
{
	play_active(high, gpu_id);
	play_decide();
	finish();
	now += 50 * MS;
	play_idle(high, gpu_id);
	return gap(length);
}

static uint64_t request(uint64_t length)
{
	return request_on(GPU, length);
}

static void costs_bound_it_at_first(void **state)
{
	(void)state;
	assert_int_equal(request(1 * S), BOUND);
	assert_int_equal(request(5 * MS), 5 * MS);
	assert_int_equal(request(1 * S), BOUND);
	assert_int_equal(request(1 * S), BOUND);
	assert_true(request(1 * S) < BOUND); /* the lengths of four gaps are known */
}

/* A suspend that begins 1 ms after a resume waits until the driver has finished that. */
static void rest_of_a_resume_is_no_cost_of_a_suspend(void **state)
{
	(void)state;
	assert_int_equal(request(BOUND + 1 * MS), BOUND);
	suspend_ns = SUSPEND + RESUME;
	assert_int_equal(request(1 * S), BOUND);
	suspend_ns = SUSPEND;
}

static void short_gaps_are_held(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(request(5 * MS), 5 * MS);
	assert_int_equal(request(1 * S), BOUND);
	/* the length of one long gap is known */
	assert_in_range(request(1 * S), 5 * MS, BOUND - 1);
}

static void long_gaps_are_not(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		assert_true(request(100 * MS) <= BOUND);
	for (int i = 0; i < 20; i++)
		assert_int_equal(request(100 * MS), 0);
	for (int i = 0; i < 128; i++)
		request(2 * MS);
	assert_int_equal(request(2 * MS), 2 * MS);
}

/* 15 ms are longer than a resume and one suspend, and shorter than a resume and two suspends. */
static void weight_decides(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		request(15 * MS);
	assert_int_equal(request(15 * MS), 15 * MS);
	configure(1, NULL);
	assert_int_equal(request(15 * MS), 0);
	configure(0, NULL);
	assert_int_equal(request(15 * MS), 0);
	configure(1000, NULL);
	for (int i = 0; i < 5; i++)
		assert_int_equal(request(1 * S), 1 * S);
}

/* The gaps during which the client itself has no work (a batch job between two batches) count,
 * too. */
static void gaps_without_work_count(void **state)
{
	(void)state;
	request(1 * S);
	play_idle(low, GPU);
	for (int i = 0; i < 8; i++)
		request(100 * MS);
	play_active(low, GPU);
	assert_int_equal(request(100 * MS), 0);
}

/* The gaps of another node do not count until the client works there. */
static void nodes_of_its_own_count(void **state)
{
	core_id other = play_add(15);

	(void)state;
	play_idle(low, OTHER_GPU); /* the client has a queue there, but never had work */
	play_active(other, OTHER_GPU);
	for (int i = 0; i < 8; i++)
		request(100 * MS);
	assert_int_equal(request(100 * MS), 0);
	play_idle(other, OTHER_GPU);
	play_active(low, OTHER_GPU);
	for (int i = 0; i < 200; i++)
		request_on(i % 2 ? GPU : OTHER_GPU, 2 * MS);
	assert_int_equal(request(2 * MS), 2 * MS);
	/* While one of the two nodes is always busy there is no gap. */
	play_active(other, OTHER_GPU);
	assert_int_equal(request(2 * MS), 2 * MS);
	now += 100 * MS;
	play_expect_nothing();
	play_idle(other, OTHER_GPU);
	assert_in_range(gap(1 * S), 2 * MS, BOUND);
}

/* The group has one client on each of two nodes: the gaps of both nodes count for the group. */
static void gaps_are_the_groups(void **state)
{
	core_id rank[2], busy = play_add(15);

	(void)state;
	core_remove(core, low);
	for (int i = 0; i < 2; i++) {
		rank[i] = core_add(core, 1, 7, 2, now);
		core_set_capability(core, rank[i], CORE_ABLE);
		play_active(rank[i], i ? OTHER_GPU : GPU);
	}
	low = rank[0];
	for (int i = 0; i < 8; i++)
		request(100 * MS);
	assert_int_equal(request(100 * MS), 0);
	play_active(busy, OTHER_GPU);
	assert_int_equal(request(100 * MS), 100 * MS);
	assert_int_equal(play_state(rank[1]), CORE_SUSPENDED);
}

/* Two clients of one group on one GPU. The driver makes their calls one after the other, so the
 * second suspend ends after twice the time. Returns the longest hold-over with the costs of
 * both. */
static uint64_t two_on_one_gpu(core_id rank[2])
{
	core_remove(core, low);
	for (int i = 0; i < 2; i++) {
		rank[i] = core_add(core, 1, 7, 2, now);
		core_set_capability(core, rank[i], CORE_ABLE);
		play_active(rank[i], GPU);
	}
	low = rank[0];
	return 2 * BOUND;
}

static void suspend_two(void)
{
	assert_int_equal(play_decide(), 2);
	for (size_t i = 0; i < action_count; i++)
		core_finished(core, actions[i].client, 0, (i + 1) * SUSPEND, now);
	now += 50 * MS;
}

/* Plays a request of 50 ms and a gap, at the end of which both clients run if it was long. Returns
 * the time for which both were held. */
static uint64_t request_beside_two(const core_id rank[2], uint64_t length)
{
	uint64_t begin, held = length;

	play_active(high, GPU);
	suspend_two();
	play_idle(high, GPU);
	begin = now;
	if (play_decide() == 0 && deadline < begin + length) {
		now = deadline;
		play_decide();
	}
	if (action_count)
		held = now - begin;
	while (action_count) {
		assert_int_equal(action_count, 1);
		now += RESUME;
		core_finished(core, actions[0].client, 0, RESUME, now);
		play_decide();
	}
	assert_true(held == length ||
		    (play_state(rank[0]) == CORE_RUNNING && play_state(rank[1]) == CORE_RUNNING));
	now = begin + length;
	return held;
}

static void cost_is_of_all_clients_of_a_group(void **state)
{
	core_id rank[2];
	uint64_t bound = two_on_one_gpu(rank);

	(void)state;
	assert_int_equal(request_beside_two(rank, 1 * S), bound);
	assert_int_equal(request_beside_two(rank, 1 * S), bound);
	assert_int_equal(request_beside_two(rank, 1 * S), bound);
}

/* A request comes while the first of the two is being resumed, which is slow, so that only this one
 * is suspended. That shows nothing of what both cost. */
static void half_a_group_shows_no_cost(void **state)
{
	core_id rank[2], first;
	uint64_t bound = two_on_one_gpu(rank);

	(void)state;
	assert_int_equal(request_beside_two(rank, 1 * S), bound);
	play_active(high, GPU);
	suspend_two();
	play_idle(high, GPU);
	play_expect_nothing();
	now = deadline;
	assert_int_equal(play_decide(), 1);
	first = actions[0].client;
	now += 1 * S;
	play_active(high, GPU);
	play_expect_nothing();
	core_finished(core, first, 0, 1 * S, now);
	play_expect(CORE_SUSPEND, first);
	core_finished(core, actions[0].client, 0, SUSPEND, now);
	now += 50 * MS;
	play_idle(high, GPU);
	play_expect_nothing();
	assert_int_equal(deadline, now + bound);
}

/* Work that does not contend with the client (policy observe) does not end a gap. */
static void observed_nodes_do_not_count(void **state)
{
	core_id seen = play_add(15);

	(void)state;
	configure(2, &(struct core_policy){POLICY_observe, 0});
	assert_true(core_set_policy(core, GPU, &(struct core_policy){POLICY_strict, 0}));
	play_active(low, OTHER_GPU);
	play_active(seen, OTHER_GPU);
	for (int i = 0; i < 8; i++)
		request(100 * MS);
	assert_int_equal(request(100 * MS), 0);
}

/* A new client begins without knowledge of gaps, as its predecessor did. */
static void newcomers_know_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		request(100 * MS);
	assert_int_equal(request(100 * MS), 0);
	core_remove(core, low);
	low = play_add(2);
	play_active(low, GPU);
	assert_int_equal(request(100 * MS), BOUND);
}

/* A process had to wait for a core, say: no gap is as long as that cost. */
static void one_slow_call_is_forgotten(void **state)
{
	uint64_t held = 1;

	(void)state;
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	core_finished(core, low, 0, 40 * MS, now);
	now += 50 * MS;
	play_idle(high, GPU);
	assert_int_equal(gap(20 * MS), 20 * MS);
	for (int i = 0; i < 100; i++)
		assert_int_equal(request(20 * MS), 20 * MS);
	for (int i = 0; held && i < 156; i++)
		held = request(20 * MS);
	for (int i = 0; i < 20; i++)
		assert_int_equal(request(20 * MS), 0);
}

static void without_it_nothing_is_held(void **state)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	(void)state;
	config.hold_over = false;
	core_configure(core, &config);
	for (int i = 0; i < 20; i++)
		assert_int_equal(request(1 * MS), 0);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(costs_bound_it_at_first),
		HERE(rest_of_a_resume_is_no_cost_of_a_suspend),
		HERE(short_gaps_are_held),
		HERE(long_gaps_are_not),
		HERE(weight_decides),
		HERE(gaps_without_work_count),
		HERE(nodes_of_its_own_count),
		HERE(gaps_are_the_groups),
		HERE(cost_is_of_all_clients_of_a_group),
		HERE(half_a_group_shows_no_cost),
		HERE(observed_nodes_do_not_count),
		HERE(newcomers_know_nothing),
		HERE(one_slow_call_is_forgotten),
		HERE(without_it_nothing_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
