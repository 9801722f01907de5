// SPDX-License-Identifier: MIT
/*
 * Proves the figures of several clients of a kind: from those of each client to the total, and
 * their names.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/colocate/result.h"

static struct colocation run;

/* Setup: two online clients, and three offline ones, of which two are in a group. */
static int fresh(void **state)
{
	(void)state;
	memset(&run, 0, sizeof(run));
	run.seeds = 1;
	run.seconds = 1;
	run.time_scale = 1;
	run.online_clients = (struct client_set){2, {"serve", "chat"}, {NULL}};
	run.offline_clients = (struct client_set){3, {"train", "train", "gemm"}, {"a", "a", NULL}};
	return 0;
}

static bool near(double value, double wanted)
{
	return fabs(value - wanted) < 1e-9;
}

static void test_requests_of_all(void **state)
{
	struct request_time serve[] = {{0, 10}, {100, 130}, {200, NAN}},
			    chat[] = {{50, 70}, {150, 190}};
	const struct request_list lists[] = {{serve, 3}, {chat, 2}};
	struct arm_stats arm = {.online_of = {{.p99_us = 30,
					       .requests = 2,
					       .gpu_busy_ratio = 0.1,
					       .keeps_up = true,
					       .gpu_us = 10},
					      {.p99_us = 40,
					       .requests = 2,
					       .gpu_busy_ratio = 0.2,
					       .keeps_up = true,
					       .gpu_us = 30}}};

	(void)state;
	result_all_online(&run, lists, &arm);
	/* 10, 20, 30 and 40; the request that was not completed does not count. */
	assert_true(arm.online.p50_us == 20 && arm.online.p90_us == 40 && arm.online.p999_us == 40);
	assert_int_equal(arm.online.requests, 4);
	assert_true(near(arm.online.gpu_busy_ratio, 0.3) && near(arm.online.gpu_us, 20));
	assert_true(arm.online.keeps_up);
	assert_ptr_equal(client_online(&run, &arm, 1), &arm.online_of[1]);
	/* If one client does not keep up, the total does not. */
	arm.online_of[1].keeps_up = false;
	result_all_online(&run, lists, &arm);
	assert_false(arm.online.keeps_up);
	/* The total of one client is its own figures, whatever its requests. */
	run.online_clients.count = 1;
	result_all_online(&run, NULL, &arm);
	assert_memory_equal(&arm.online, &arm.online_of[0], sizeof(arm.online));
	assert_ptr_equal(client_online(&run, &arm, 0), &arm.online);
}

static void test_no_request_at_all(void **state)
{
	const struct request_list lists[] = {{NULL, 0}, {NULL, 0}};
	struct arm_stats arm = {0};

	(void)state;
	result_all_online(&run, lists, &arm);
	assert_true(isnan(arm.online.p50_us) && isnan(arm.online.p999_us));
}

/* The total share is the mean of the clients' shares, weighted by the GPU time that each had
 * alone. */
static void test_steps_of_all(void **state)
{
	struct arm_stats *alone = &run.arms[ARM_ALONE], *trap = &run.arms[ARM_TRAP];
	double weights;

	(void)state;
	alone->ran = trap->ran = true;
	alone->offline_of[0] = (struct offline_stats){10, 0.3, 300};
	alone->offline_of[1] = (struct offline_stats){20, 0.3, 300};
	alone->offline_of[2] = (struct offline_stats){400, 0.4, 12};
	trap->offline_of[0] = (struct offline_stats){8, 0.2, 300};
	trap->offline_of[1] = (struct offline_stats){10, 0.2, 300};
	trap->offline_of[2] = (struct offline_stats){100, 0.1, 12};
	result_all_offline(&run, alone);
	result_all_offline(&run, trap);
	weights = 10 * 300 + 20 * 300 + 400 * 12;
	assert_true(near(trap->offline.steps / alone->offline.steps,
			 (0.8 * 3000 + 0.5 * 6000 + 0.25 * 4800) / weights));
	assert_true(near(alone->offline.steps, weights / 204));
	assert_true(near(trap->offline.gpu_busy_ratio, 0.5));
	assert_true(client_of_alone(&run, ARM_TRAP, 1) == 0.5);
	assert_true(client_of_alone(&run, ARM_ALONE, 2) == 1);
	assert_true(isnan(client_of_alone(&run, ARM_SHARED, 1)));
	alone->offline_of[1].steps = 0;
	assert_true(isnan(client_of_alone(&run, ARM_TRAP, 1)));

	run.offline_clients.count = 1;
	result_all_offline(&run, trap);
	assert_true(trap->offline.steps == 8);
}

static void test_seeds_of_each(void **state)
{
	(void)state;
	run.seeds = 3;
	for (unsigned seed = 0; seed < 3; seed++) {
		struct arm_stats *one = &run.by_seed[seed][ARM_TRAP];

		one->online_of[1] = (struct online_stats){
			.p99_us = seed == 1 ? 90 : 10 + seed, .requests = 5, .keeps_up = seed != 2};
		one->offline_of[2].steps = 3 * seed;
	}
	result_combine(&run);
	assert_true(run.arms[ARM_TRAP].online_of[1].p99_us == 12);
	assert_int_equal(run.arms[ARM_TRAP].online_of[1].requests, 15);
	assert_false(run.arms[ARM_TRAP].online_of[1].keeps_up);
	assert_true(run.arms[ARM_TRAP].offline_of[2].steps == 3);
}

/* The requests of all clients are one list. A suspend takes one call for each client of a gang. */
static void test_possible(void **state)
{
	struct request_time serve[] = {{500050, 500250}}, chat[] = {{500000, 500100}};
	struct result_verdict verdict;

	(void)state;
	run.arms[ARM_ALONE].ran = true;
	run.arms[ARM_ALONE].online.keeps_up = true;
	run.requests[0][0] = (struct request_list){serve, 1};
	run.requests[0][1] = (struct request_list){chat, 1};
	hist_add(&run.suspend, 20000);
	hist_add(&run.resume, 30000);
	run.offline_clients.groups[2] = "a";
	result_evaluate(&run, &verdict);
	assert_true(fabs(verdict.possible_costs.suspend_us - 60) < 2);
	assert_true(fabs(verdict.possible_costs.resume_us - 90) < 3);
	assert_int_equal(verdict.possible.suspends, 1);
	/* chat 500060..500160, serve 500160..500360 */
	assert_true(near(verdict.possible.p99_us, 250 + verdict.possible_costs.suspend_us));
	/* A client without a group is a gang of its own. */
	run.offline_clients.groups[2] = NULL;
	result_evaluate(&run, &verdict);
	assert_true(fabs(verdict.possible_costs.suspend_us - 20) < 1);
	/* The requests of the second client are missing. */
	run.requests[0][1] = (struct request_list){0};
	result_evaluate(&run, &verdict);
	assert_true(isnan(verdict.possible.share));
}

static void test_smallest_hold(void **state)
{
	const struct client_set groups = {5, {"x"}, {"a", "b", "a", "b", "b"}},
				alone = {2, {"x"}, {NULL}}, one = {1, {"x"}, {"a"}};

	(void)state;
	assert_int_equal(client_smallest_hold(&run.offline_clients), 1);
	assert_int_equal(client_smallest_hold(&groups), 2);
	assert_int_equal(client_smallest_hold(&alone), 1);
	assert_int_equal(client_smallest_hold(&one), 1);
}

static void test_titles(void **state)
{
	const struct client_set other = {
		4, {"train", "train", "gemm", "train"}, {"a", "b", NULL, "a"}};
	char text[64], small[8];

	(void)state;
	assert_string_equal(result_title(&run.online_clients, text, sizeof(text)), "serve + chat");
	assert_string_equal(result_title(&run.offline_clients, text, sizeof(text)),
			    "2 x train (a) + gemm");
	assert_string_equal(result_title(&other, text, sizeof(text)),
			    "2 x train (a) + train (b) + gemm");
	run.online_clients.count = 1;
	assert_string_equal(result_title(&run.online_clients, text, sizeof(text)), "serve");
	assert_string_equal(result_title(&other, small, sizeof(small)), "2 x tra");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_requests_of_all, fresh),
		cmocka_unit_test_setup(test_no_request_at_all, fresh),
		cmocka_unit_test_setup(test_steps_of_all, fresh),
		cmocka_unit_test_setup(test_seeds_of_each, fresh),
		cmocka_unit_test_setup(test_possible, fresh),
		cmocka_unit_test_setup(test_smallest_hold, fresh),
		cmocka_unit_test_setup(test_titles, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
