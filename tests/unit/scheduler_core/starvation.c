// SPDX-License-Identifier: MIT
/* Proves: a client is suspended for at most 30 s, then runs for 200 ms in one piece. A shorter run
 * in between does not restart the 30 s; one of 200 ms does. */

#include "tests/unit/scheduler_core/play.h"

static core_id low, high;

static int setup(void **state)
{
	if (play_setup(state))
		return -1;
	low = play_add(2);
	high = play_add(15);
	play_active(low, GPU);
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
	return 0;
}

static void one_hold_span(void **state)
{
	(void)state;
	play_expect_nothing();
	assert_int_equal(deadline, now + 30 * S);
	now += 30 * S - 1;
	play_expect_nothing();
	now += 1;
	play_expect(CORE_RESUME, low);
	assert_false(actions[0].prompt);
	now += 5 * MS;
	play_done(low);
	play_expect_nothing();
	assert_int_equal(deadline, now + 200 * MS);
	now += 200 * MS - 1;
	play_expect_nothing();
	now += 1;
	play_expect(CORE_SUSPEND, low);
	assert_false(actions[0].prompt);
	play_done(low);
	play_expect_nothing();
	assert_int_equal(deadline, now + 30 * S); /* the next 30 s have started */
}

/* Lets `low` run for `ns`, then suspends it again. */
static void rest(uint64_t ns)
{
	play_idle(high, GPU);
	play_expect(CORE_RESUME, low);
	play_done(low);
	now += ns;
	play_active(high, GPU);
	play_expect(CORE_SUSPEND, low);
	play_done(low);
}

static void short_rests_do_not_count_as_long_ones(void **state)
{
	(void)state;
	now += 29 * S;
	rest(1 * MS);
	play_expect_nothing();
	assert_int_equal(deadline, now + 1 * S);
}

static void many_short_rests_add_up(void **state)
{
	(void)state;
	now += 29 * S;
	for (int i = 0; i < 199; i++)
		rest(1 * MS);
	play_expect_nothing();
	assert_int_equal(deadline, now + 1 * S);
	rest(1 * MS);
	play_expect_nothing();
	assert_int_equal(deadline, now + 30 * S);
}

static void rest_ends_early_for_no_other_client(void **state)
{
	(void)state;
	now += 30 * S;
	play_expect(CORE_RESUME, low);
	play_done(low);
	for (int i = 0; i < 100; i++) {
		play_idle(high, GPU);
		play_expect_nothing();
		play_active(high, GPU);
		play_expect_nothing();
		now += 1 * MS;
	}
}

static core_id held(core_id c, uint32_t gpu_id)
{
	play_active(c, gpu_id);
	play_expect(CORE_SUSPEND, c);
	play_done(c);
	return c;
}

/* Clients of one GPU that were held at different times run in the same 200 ms. Clients of another
 * GPU run later. */
static void all_of_a_gpu_run_at_once(void **state)
{
	core_id late, elsewhere;

	(void)state;
	play_active(high, OTHER_GPU);
	now += 20 * S;
	late = held(play_add(3), GPU);
	elsewhere = held(play_add(1), OTHER_GPU);
	now += 10 * S;
	assert_int_equal(play_decide(), 2);
	assert_int_equal(play_state(low), CORE_RESUMING);
	assert_int_equal(play_state(late), CORE_RESUMING);
	play_done(late);
	play_done(low);
	play_expect_nothing();
	assert_int_equal(deadline, now + 200 * MS);
	now += 200 * MS;
	assert_int_equal(play_decide(), 2);
	play_done(late);
	play_done(low);
	now += 20 * S - 200 * MS;
	play_expect(CORE_RESUME, elsewhere);
}

/* If a member of a group must run, the clients held on all GPUs of the group run, too. */
static void all_gpus_of_a_group_do(void **state)
{
	core_id here, there, beside;

	(void)state;
	play_active(high, OTHER_GPU);
	here = core_add(core, 1, 7, 1, now);
	there = core_add(core, 1, 7, 1, now);
	core_set_capability(core, here, CORE_ABLE);
	core_set_capability(core, there, CORE_ABLE);
	play_active(here, GPU);
	play_active(there, OTHER_GPU);
	assert_int_equal(play_decide(), 2);
	play_done(here);
	play_done(there);
	now += 20 * S;
	beside = held(play_add(1), OTHER_GPU);
	now += 10 * S;
	assert_int_equal(play_decide(), 4);
	assert_int_equal(play_state(beside), CORE_RESUMING);
}

/* A GPU on which the gang had work earlier, but has none now, does not belong to the gang. */
static void a_gpu_without_its_work_does_not(void **state)
{
	core_id both, elsewhere;

	(void)state;
	play_active(high, OTHER_GPU);
	both = play_add(2);
	play_active(both, OTHER_GPU);
	play_idle(both, OTHER_GPU);
	held(both, GPU);
	now += 10 * S;
	elsewhere = play_add(1);
	play_active(elsewhere, GPU);
	play_idle(elsewhere, GPU);
	held(elsewhere, OTHER_GPU);
	now += 20 * S;
	assert_int_equal(play_decide(), 2);
	assert_int_equal(play_state(both), CORE_RESUMING);
	assert_int_equal(play_state(low), CORE_RESUMING);
	assert_int_equal(play_state(elsewhere), CORE_SUSPENDED);
}

/* A client that an operator has suspended (a lease) stays suspended beside a client that must
 * run. */
static void a_lease_is_not_ended(void **state)
{
	core_id leased;

	(void)state;
	leased = held(play_add(1), GPU);
	core_set_lease(core, leased, now + 60 * S);
	now += 30 * S;
	play_expect(CORE_RESUME, low);
	play_done(low);
	assert_int_equal(play_state(leased), CORE_SUSPENDED);
	now += 30 * S - 1;
	play_decide();
	assert_int_equal(play_state(leased), CORE_SUSPENDED);
}

#define FAR 16 /* number of GPUs that only the shared memory of another tenant names */

/* Executes all actions and deadlines up to `end`. Returns how often `low` was resumed. */
static unsigned resumes_until(uint64_t end)
{
	unsigned resumes = 0;

	for (;;) {
		for (size_t n = play_decide(); n; n = play_decide())
			for (size_t i = 0; i < n; i++) {
				resumes += actions[i].client == low && actions[i].op == CORE_RESUME;
				play_done(actions[i].client);
			}
		if (deadline > end)
			break;
		assert_true(deadline > now);
		now = deadline;
	}
	now = end;
	return resumes;
}

/* Another tenant has many gangs held on other GPUs. Each of them moves to this GPU a second before
 * its bound. Beside them `low` must run no more often than by its own bound. */
static void bounds_of_others_add_no_release(void **state)
{
	core_id there[FAR] = {0}, online = core_add(core, 2, 0, 15, now);
	unsigned resumes = 0;

	(void)state;
	for (unsigned i = 0; i < FAR; i++)
		assert_true(core_set_activity(core, online, 100 + i, true, now));
	for (unsigned s = 0; s < 10 * 32; s++) {
		for (unsigned i = 0; i < FAR; i++) {
			if (s % 32 == (2 * i + 29) % 32)
				core_set_activity(core, there[i], GPU, true, now);
			if (s % 32 != 2 * i)
				continue;
			core_remove(core, there[i]);
			there[i] = core_add(core, 2, 0, 2, now);
			core_set_capability(core, there[i], CORE_ABLE);
			core_set_activity(core, there[i], 100 + i, true, now);
		}
		resumes += resumes_until(now + 1 * S);
	}
	assert_in_range(resumes, 10 * 32 / 31, 10 * 32 / 30);
}

/* A thousand clients with 16 GPUs each reach the bound in the same moment. */
static void thousand_clients_are_released_at_once(void **state)
{
	struct core_config config = CORE_CONFIG_DEFAULT;
	static struct core_action all[1000];
	struct core *large = core_create(&config, 1001);
	core_id c = core_add(large, 1, 0, 15, now);
	size_t n;

	(void)state;
	core_set_activity(large, c, GPU, true, now);
	for (uint32_t i = 0; i < 1000; i++) {
		c = core_add(large, 1, 0, 2, now);
		core_set_capability(large, c, CORE_ABLE);
		core_set_activity(large, c, GPU, true, now);
		for (uint32_t gpu = 1; gpu < 16; gpu++)
			core_set_activity(large, c, GPU + i * 16 + gpu, false, now);
	}
	n = core_decide(large, now, all, 1000, &deadline);
	assert_int_equal(n, 1000);
	for (size_t i = 0; i < n; i++)
		core_finished(large, all[i].client, 0, 1 * MS, now);
	assert_int_equal(core_decide(large, now + 30 * S, all, 1000, &deadline), 1000);
	core_destroy(large);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, play_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(one_hold_span),
		HERE(short_rests_do_not_count_as_long_ones),
		HERE(many_short_rests_add_up),
		HERE(rest_ends_early_for_no_other_client),
		HERE(all_of_a_gpu_run_at_once),
		HERE(all_gpus_of_a_group_do),
		HERE(a_gpu_without_its_work_does_not),
		HERE(a_lease_is_not_ended),
		HERE(bounds_of_others_add_no_release),
		HERE(thousand_clients_are_released_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
