/* SPDX-License-Identifier: MIT */
/*
 * Fixture of the tests in this directory: one core, a clock (`now`, in ns) and short helpers that
 * make one call of the core, or one call and its checks. play_setup() creates the core,
 * play_teardown() destroys it. Threads: one.
 */
#ifndef TESTS_UNIT_SCHEDULER_CORE_PLAY_H
#define TESTS_UNIT_SCHEDULER_CORE_PLAY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>

#include "scheduler/core/sched.h"

#define MS 1000000ull
#define S 1000000000ull
#define GPU 19729u
#define OTHER_GPU 4711u

static struct core *core;
static uint64_t now;
static uint64_t deadline;
static struct core_action actions[64];
static size_t action_count;

/* Setup and teardown of a test: create and destroy the core. */
static inline int play_setup(void **state)
{
	struct core_config config = CORE_CONFIG_DEFAULT;

	(void)state;
	/* Tests of the hold-over enable it. */
	config.hold_over = false;
	now = 1000 * S;
	core = core_create(&config, 64);
	return core ? 0 : -1;
}

static inline int play_teardown(void **state)
{
	(void)state;
	core_destroy(core);
	return 0;
}

/* Adds a client of tenant 1 that can be suspended. */
static inline core_id play_add(int priority)
{
	core_id c = core_add(core, 1, 0, priority, now);

	assert_int_not_equal(c, 0);
	core_set_capability(core, c, CORE_ABLE);
	return c;
}

/* Decides at `now`. Returns the number of actions, which are in `actions`. */
static inline size_t play_decide(void)
{
	action_count = core_decide(core, now, actions, 64, &deadline);
	return action_count;
}

/* Reports that the client works on the node. */
static inline void play_active(core_id c, uint32_t gpu_id)
{
	assert_true(core_set_activity(core, c, gpu_id, true, now));
}

static inline void play_idle(core_id c, uint32_t gpu_id)
{
	assert_true(core_set_activity(core, c, gpu_id, false, now));
}

/* Checks that a decision now consists of exactly this action. */
static inline void play_expect(enum core_op op, core_id c)
{
	assert_int_equal(play_decide(), 1);
	assert_int_equal(actions[0].client, c);
	assert_int_equal(actions[0].op, op);
}

/* Checks that a decision now consists of no action. */
static inline void play_expect_nothing(void)
{
	assert_int_equal(play_decide(), 0);
}

/* Reports that the client's action in flight has succeeded and took 1 ms. */
static inline void play_done(core_id c)
{
	core_finished(core, c, 0, 1 * MS, now);
}

static inline enum core_state play_state(core_id c)
{
	struct core_view view;

	assert_true(core_view_client(core, c, now, &view));
	return view.state;
}

#define PLAY(f) cmocka_unit_test_setup_teardown(f, play_setup, play_teardown)

#endif
