// SPDX-License-Identifier: MIT
/* Proves: a client in a call that a suspension would block is resumed and not suspended until the
 * call has returned, and for a short time longer if such calls follow each other. A client that
 * cannot be suspended is never suspended. The entries of nodes without clients are used again. */
#include "scheduler/core/sched_priv.h"
#include "tests/unit/scheduler_core/play.h"

static void teardown_is_resumed(void **state)
{
	core_id low = play_add(2);
	core_id high = play_add(15);

	(void)state;
	play_active(low, GPU);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	core_set_teardown(core, low, true);
	play_expect_nothing(); /* the resume waits for the suspend in flight */
	play_done(low);
	play_expect(CORE_RESUME, low);
	play_done(low);
	now += 100 * S;
	play_expect_nothing();
	core_set_teardown(core, low, false);
	play_expect(CORE_SUSPEND, low);
	assert_false(actions[0].prompt);
}

/* Repeated calls do not make the client's node be preempted more often. */
static void teardown_again_and_again(void **state)
{
	core_id low = play_add(2), high = play_add(15);

	(void)state;
	play_active(low, GPU);
	play_active(high, GPU);
	for (int i = 0; i < 10; i++) {
		uint64_t begin = now;

		play_expect(CORE_SUSPEND, low);
		play_done(low);
		now += 1 * MS;
		core_set_teardown(core, low, true);
		play_expect(CORE_RESUME, low);
		play_done(low);
		core_set_teardown(core, low, false);
		play_expect_nothing();
		assert_int_equal(deadline, begin + CORE_RETRY_NS);
		now = deadline;
	}
	/* The pause ends, and the client can be suspended again. */
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
	play_done(low);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
}

static void pending_is_left_alone(void **state)
{
	core_id low = core_add(core, 1, 0, 2, now);
	core_id high = play_add(15);

	(void)state;
	play_active(low, GPU);
	play_active(high, GPU);
	play_expect_nothing();
	core_set_capability(core, low, CORE_ABLE);
	play_expect(CORE_SUSPEND, low);
	assert_false(actions[0].prompt);
}

static void refused_is_left_alone(void **state)
{
	core_id low = play_add(2);
	core_id high = play_add(15);
	struct core_view view;

	(void)state;
	play_active(low, GPU);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	core_set_capability(core, low, CORE_REFUSED);
	play_expect(CORE_RESUME, low);
	play_done(low);
	play_expect_nothing();
	assert_true(core_view_client(core, low, now, &view));
	assert_true(view.contended);
}

static void node_stats(void **state)
{
	core_id low = play_add(2);
	core_id high = play_add(15);
	bool urgent;
	uint32_t suspended;

	(void)state;
	play_active(low, GPU);
	core_view_node(core, GPU, &urgent, &suspended);
	assert_false(urgent);
	play_active(high, GPU);
	play_decide();
	core_view_node(core, GPU, &urgent, &suspended);
	assert_true(urgent);
	assert_int_equal(suspended, 1);
	core_view_node(core, OTHER_GPU, &urgent, &suspended);
	assert_false(urgent);
	assert_int_equal(suspended, 0);
}

static void entries_are_used_again(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		core_id c = play_add(2);

		play_active(c, GPU);
		play_active(c, OTHER_GPU);
		core_remove(core, c);
	}
	assert_int_equal(core->node_top, 2);
	assert_int_equal(core->gpu_top, 2);
	assert_int_equal(core->top, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAY(teardown_is_resumed),
		PLAY(teardown_again_and_again),
		PLAY(pending_is_left_alone),
		PLAY(refused_is_left_alone),
		PLAY(node_stats),
		PLAY(entries_are_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
