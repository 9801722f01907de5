// SPDX-License-Identifier: MIT
/* Proves: a right lets one tenant preempt another, only in the direction of the right. A client
 * that moves to another tenant or group while it is held is neither released before its hold-over
 * ends nor held beyond the starvation bound, and no action is lost or issued twice. */
#include "tests/unit/scheduler_core/play.h"

static core_id add(unsigned tenant, unsigned group, int priority)
{
	core_id c = core_add(core, tenant, group, priority, now);

	assert_int_not_equal(c, 0);
	core_set_capability(core, c, CORE_ABLE);
	play_active(c, GPU);
	return c;
}

static void move(core_id c, unsigned tenant, uint64_t can_preempt, uint64_t preemptible_by,
		 unsigned group)
{
	const struct core_rights rights = {
		.tenant = tenant, .can_preempt = can_preempt, .preemptible_by = preemptible_by};

	core_move(core, c, &rights, group, now);
}

static void rights_have_a_direction(void **state)
{
	core_id high = add(1, 0, 15), low = add(2, 0, 2);

	(void)state;
	play_expect_nothing();
	move(high, 1, 4, 0, 0);
	play_expect_nothing();
	move(low, 2, 0, 4 | 1, 0);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	move(low, 2, 4, 1, 0); /* now `low` can preempt `high`, and no client can preempt `low` */
	play_expect(CORE_RESUME, low);
	play_done(low);
	move(high, 1, 0, 4, 0); /* `high` could be preempted, but `low` is less urgent */
	play_expect_nothing();
	core_set_priority(core, high, 1);
	play_expect(CORE_SUSPEND, high);
	play_done(high);
	core_remove(core, low);
	play_expect(CORE_RESUME, high);
}

static void rights_within_a_tenant_matter_not(void **state)
{
	core_id high = add(1, 0, 15), low = add(1, 0, 2);
	bool urgent;
	uint32_t suspended;

	(void)state;
	move(high, 1, 0, 1, 0);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	core_view_node(core, GPU, &urgent, &suspended);
	assert_true(urgent);
	assert_int_equal(suspended, 1);
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
}

/* The hold-over and the learned costs move with the client. */
static void hold_over_goes_along(void **state)
{
	struct core_config config = CORE_CONFIG_DEFAULT;
	core_id high = add(1, 0, 15), low = add(1, 0, 2);

	(void)state;
	core_configure(core, &config);
	play_expect(CORE_SUSPEND, low);
	core_finished(core, low, 0, 20 * MS, now);
	now += 40 * MS;
	move(low, 2, 0, 0, 7); /* no client contends with it there */
	play_expect_nothing();
	assert_int_equal(deadline, now + 60 * MS); /* the cost of a resume and of two suspends */
	now = deadline;
	play_expect(CORE_RESUME, low);
	assert_int_equal(play_state(high), CORE_RUNNING);
}

static void one_of_a_group_goes(void **state)
{
	core_id high = add(1, 0, 15), a = add(1, 1, 2), b = add(1, 1, 2);

	(void)state;
	assert_int_equal(play_decide(), 2);
	play_done(a);
	move(b, 2, 0, 0, 0); /* its suspend is in flight */
	play_expect_nothing();
	play_done(b);
	play_expect(CORE_RESUME, b);
	play_done(b);
	assert_int_equal(play_state(a), CORE_SUSPENDED);
	move(b, 1, 0, 0, 1);
	play_expect(CORE_SUSPEND, b); /* a group is held as a whole */
	play_done(b);
	play_idle(high, GPU);
	play_expect(CORE_RESUME, b);
	play_done(b);
	play_expect(CORE_RESUME, a);
}

/* Held for 20 s in the first group and 20 s in the second, the client exceeds the bound of 30 s. */
static void the_bound_goes_along(void **state)
{
	core_id high = add(1, 0, 15), a = add(1, 1, 2), b;

	(void)state;
	play_expect(CORE_SUSPEND, a);
	play_done(a);
	now += 20 * S;
	b = add(1, 2, 2);
	play_expect(CORE_SUSPEND, b);
	play_done(b);
	move(a, 1, 0, 0, 2);
	play_expect_nothing();
	now += 10 * S;
	play_expect(CORE_RESUME, a);
	play_done(a);
	play_expect(CORE_RESUME, b);
	assert_int_equal(play_state(high), CORE_RUNNING);
}

static void a_client_that_has_ended_does_not_move(void **state)
{
	core_id high = add(1, 0, 15), low = add(1, 0, 2);

	(void)state;
	core_remove(core, low);
	move(low, 1, 0, 0, 0);
	move(high, 1, 0, 0, 0); /* no change of place */
	play_expect_nothing();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAY(rights_have_a_direction), PLAY(rights_within_a_tenant_matter_not),
		PLAY(hold_over_goes_along),    PLAY(one_of_a_group_goes),
		PLAY(the_bound_goes_along),    PLAY(a_client_that_has_ended_does_not_move),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
