// SPDX-License-Identifier: MIT
/*
 * Proves the way from the figures of a colocate run to its verdict, table and JSON: the rule of
 * validity, the floor, the presentation of an online client that does not keep up, and that unknown
 * values are null and "-".
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/colocate/result.h"

static struct colocation run;
static struct result_verdict verdict;
static struct simulation window;

/* Setup: alone 900 / 2000 us, trap 1000 / 2600 us, runlist update 200 us, save 32 us. */
static int fresh(void **state)
{
	(void)state;
	run = (struct colocation){
		.online = "on",
		.offline = "off",
		.online_clients = {1, {"on"}, {NULL}},
		.offline_clients = {1, {"off"}, {NULL}},
		.load = 0.2,
		.rate_per_s = NAN,
		.seconds = 20,
		.simulated = true,
		.time_scale = 0.1,
		.profile = "mi210",
		.update_us = 200,
	};
	for (unsigned i = 0; i < ARM_COUNT; i++)
		run.arms[i] = (struct arm_stats){
			.ran = true,
			.online = {900, 1500, 2000, 3000, 100, 0.2, true, 800},
			.offline = {10, 0.9, 90000},
		};
	run.arms[ARM_SHARED].online.keeps_up = false;
	run.arms[ARM_TRAP].online.p99_us = 2600;
	run.arms[ARM_TRAP].offline.steps = 7.5;
	run.arms[ARM_TRAP].suspends = 40;
	run.arms[ARM_TRAP].resumes = 39;

	memset(&window, 0, sizeof(window));
	window.updates = 3;
	window.update_ns = 600000;
	for (unsigned i = 0; i < 3; i++) {
		hist_add(&window.save, 32000);
		hist_add(&window.restore, 16000);
		hist_add(&window.doorbell, 100000);
	}
	result_charge(&run, ARM_TRAP, &window);
	result_charge(&run, ARM_TRAP, &window);
	return 0;
}

static __attribute__((noinline)) char *table(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	result_print(&run, &verdict, out);
	fclose(out);
	return text;
}

static void assert_prints(const char *needle)
{
	char *text = table();

	if (!strstr(text, needle))
		fail_msg("the table does not say '%s':\n%s", needle, text);
	free(text);
}

static void test_charges_add_up(void **state)
{
	(void)state;
	assert_int_equal(run.arms[ARM_TRAP].save.count, 6);
	assert_int_equal(run.arms[ARM_TRAP].restore.sum, 96000);
	assert_int_equal(run.doorbell.count, 6);
	assert_int_equal(run.doorbell.max, 100000);
	assert_int_equal(run.arms[ARM_ALONE].save.count, 0);
}

static void test_floor_and_bound(void **state)
{
	(void)state;
	result_evaluate(&run, &verdict);
	/* A value of a histogram is at most 3.2 % too large, and never too small. */
	assert_true(verdict.save_us >= 32 && verdict.save_us <= 33.1);
	assert_true(verdict.restore_us >= 16 && verdict.restore_us <= 16.6);
	assert_true(verdict.floor_us[ARM_TRAP] == 2000 + 400 + verdict.save_us);
	assert_true(verdict.bound[ARM_TRAP] == 2600 / verdict.floor_us[ARM_TRAP]);
	assert_true(verdict.of_alone[ARM_TRAP] == 0.75);
	assert_prints("trap P99 2.60 ms is 1.07 x the floor");
	assert_prints("SIMULATED GPU: mi210, time scale 0.1, bounce 200 us, median save");
	assert_prints("(assumed)");
}

/* Each arm with the shim has a floor of its own: nothing is preempted at level gate, and without a
 * daemon nobody counts. */
static void test_other_levels(void **state)
{
	json_t *arms, *json;

	(void)state;
	run.arms[ARM_SELF].level = "self";
	run.arms[ARM_GATE].online.p99_us = 5000;
	run.arms[ARM_GATE].suspends = run.arms[ARM_PEERS].suspends = 12;
	result_evaluate(&run, &verdict);
	assert_true(verdict.floor_us[ARM_SELF] == verdict.floor_us[ARM_TRAP]);
	assert_true(verdict.floor_us[ARM_GATE] == 2000);
	assert_true(isnan(verdict.floor_us[ARM_SHARED]));
	assert_prints("floor: alone P99 = 2.00 ms, without the work that offline has submitted; "
		      "gate P99 5.00 ms is 2.50 x the floor");
	assert_prints(
		"without waking the agents of the offline processes; peers P99 2.00 ms is 0.82 x the floor");
	json = result_json(&run, &verdict);
	arms = json_object_get(json, "arms");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(arms, "self"), "level")), "self");
	assert_true(json_is_null(json_object_get(json_object_get(arms, "peers"), "level")));
	assert_true(json_is_null(json_object_get(json_object_get(arms, "peers"), "suspends")));
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(arms, "gate"), "suspends")), 12);
	json_decref(json);
}

static void test_doorbell_rule(void **state)
{
	(void)state;
	/* 5 % of 900 us is 45 us of model time, 450 us of wall time. */
	memset(&run.doorbell, 0, sizeof(run.doorbell));
	for (unsigned i = 0; i < 100; i++)
		hist_add(&run.doorbell, i < 98 ? 1000 : 440000);
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_VALID);
	assert_string_equal(verdict.reason, "");
	for (unsigned i = 0; i < 10; i++)
		hist_add(&run.doorbell, 480000);
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_INVALID);
	assert_non_null(strstr(verdict.reason, "doorbell delay"));
	assert_prints("INVALID: P99 doorbell delay");
	/* The same delay hides a smaller part of the work of a slower GPU. */
	run.time_scale = 0.01;
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_VALID);
}

static void test_slow_host(void **state)
{
	(void)state;
	/* 800 us of GPU time at load 0.2: 900 us on average, with queueing. */
	run.arms[ARM_ALONE].online.p50_us = 1790;
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_VALID);
	run.arms[ARM_ALONE].online.p50_us = 1810;
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_INVALID);
	assert_prints("INVALID: the online P50 alone (1.81 ms) is more than 2 x what");
	/* At a higher load a larger part of it is queueing. */
	run.arms[ARM_ALONE].online.gpu_busy_ratio = 0.5;
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_VALID);
	/* Hardware has no time scale that could be the cause. */
	run.arms[ARM_ALONE].online.p50_us = 18000;
	run.simulated = false;
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_VALID);
}

/* Two requests of 100 ms each in 20 s x 0.1. */
static void test_possible(void **state)
{
	static struct request_time times[] = {{500000, 600000}, {1000000, 1100000}};
	static struct request_time late[] = {{1999000, NAN}};
	double save, offline, share;

	(void)state;
	run.seeds = 1;
	run.requests[0][0] = (struct request_list){times, 2};
	result_evaluate(&run, &verdict);
	save = verdict.save_us;
	assert_true(verdict.possible_costs.suspend_us == 200 + save);
	assert_true(verdict.possible_costs.resume_us == 200 + verdict.restore_us);
	/* Three gaps, each with a resume, and two suspends that shorten the gap after them. */
	offline = 2e6 - 2e5 - 2 * verdict.possible_costs.suspend_us -
		  3 * verdict.possible_costs.resume_us;
	share = offline / 2e6;
	assert_true(fabs(verdict.possible.share - share) < 1e-9);
	assert_int_equal(verdict.possible.suspends, 2);
	assert_true(fabs(verdict.possible.p99_us - (100000 + 200 + save)) < 1e-6);
	assert_true(fabs(verdict.of_possible[ARM_TRAP] - 0.75 / share) < 1e-9);
	assert_true(verdict.of_possible_p99[ARM_TRAP] == 2600 / verdict.possible.p99_us);
	assert_prints("possible with known arrivals: offline keeps 89.9 %, online P99 100 ms; "
		      "trap keeps 75.0 % (83 % of that), P99 2.60 ms (0.03 x)");

	/* Over seeds: the mean of the shares and the median of the percentiles. If one seed is
	 * unknown, the result is unknown. */
	run.seeds = 2;
	run.requests[1][0] = (struct request_list){late, 1};
	result_evaluate(&run, &verdict);
	assert_true(verdict.possible.share > (share + 0.99) / 2 && verdict.possible.share < 0.96);
	assert_int_equal(verdict.possible.suspends, 3);
	assert_true(verdict.possible.p99_us == 100000 + 200 + save);
	run.requests[1][0].times = NULL;
	result_evaluate(&run, &verdict);
	assert_true(isnan(verdict.possible.share));

	/* Nothing was saved: the cost of a save is unknown, and none is assumed. */
	run.seeds = 1;
	memset(&run.arms[ARM_TRAP].save, 0, sizeof(run.arms[ARM_TRAP].save));
	result_evaluate(&run, &verdict);
	assert_true(verdict.possible_costs.suspend_us == 200);

	/* On hardware: the durations of the daemon's calls; unknown if it made none. */
	run.simulated = false;
	result_evaluate(&run, &verdict);
	assert_true(isnan(verdict.possible.share));
	hist_add(&run.suspend, 31);
	hist_add(&run.resume, 17);
	result_evaluate(&run, &verdict);
	assert_true(verdict.possible_costs.suspend_us == 0.031);
	assert_true(verdict.possible_costs.resume_us == 0.017);
	assert_false(isnan(verdict.possible.share));

	run.arms[ARM_ALONE].online.keeps_up = false;
	result_evaluate(&run, &verdict);
	assert_true(isnan(verdict.possible.share));
	json_t *json = result_json(&run, &verdict);

	assert_true(json_is_null(json_object_get(json, "possible")));
	json_decref(json);
}

static void test_arrivals_are_printed(void **state)
{
	char text[96];

	(void)state;
	assert_string_equal(result_arrivals(&run, text, sizeof(text)),
			    "Poisson arrivals, load 20 %");
	run.arrivals = "bursty";
	run.load = NAN;
	run.rate_per_s = 50;
	assert_string_equal(result_arrivals(&run, text, sizeof(text)),
			    "arrivals in bursts, 50 requests/s");
	run.arrivals = "file:gaps";
	assert_string_equal(result_arrivals(&run, text, sizeof(text)),
			    "recorded arrivals, 50 requests/s");
	/* Requests of a burst wait for each other: the machine is not the cause. */
	run.arms[ARM_ALONE].online.p50_us = 1810;
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_VALID);
}

static void test_what_cannot_be_evaluated(void **state)
{
	(void)state;
	run.arms[ARM_ALONE].ran = false;
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_NOT_EVALUATED);
	assert_true(isnan(verdict.floor_us[ARM_TRAP]));
	assert_prints("validity not checked: ");
	json_t *json = result_json(&run, &verdict);

	assert_true(json_is_null(json_object_get(json, "valid")));
	assert_non_null(json_string_value(json_object_get(json, "invalid_reason")));
	assert_null(json_object_get(json_object_get(json, "arms"), "alone"));
	json_decref(json);

	fresh(NULL);
	memset(&run.doorbell, 0, sizeof(run.doorbell));
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_INVALID);

	fresh(NULL);
	run.arms[ARM_ALONE].online.keeps_up = false;
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_INVALID);
	assert_true(isnan(verdict.floor_us[ARM_TRAP]));
}

static void test_does_not_keep_up(void **state)
{
	(void)state;
	result_evaluate(&run, &verdict);
	char *text = table();
	char *row = strstr(text, "\nshared ");

	assert_non_null(row);
	*strchr(row + 1, '\n') = '\0';
	assert_null(strstr(row, "2.00 ms"));
	assert_prints("\nshared: online does not keep up");
	free(text);

	/* Then there is no bound. */
	run.arms[ARM_TRAP].online.keeps_up = false;
	result_evaluate(&run, &verdict);
	assert_true(isnan(verdict.bound[ARM_TRAP]));
	assert_prints("trap does not keep up");
}

static void test_hardware(void **state)
{
	(void)state;
	run.simulated = false;
	run.time_scale = 1;
	run.update_us = NAN;
	for (unsigned i = 0; i < ARM_COUNT; i++)
		run.arms[i].time = time_unknown();
	memset(&run.doorbell, 0, sizeof(run.doorbell));
	result_evaluate(&run, &verdict);
	assert_int_equal(verdict.validity, RESULT_VALID);
	json_t *json = result_json(&run, &verdict);

	assert_true(json_is_null(json_object_get(json, "costs")));
	assert_true(json_is_null(json_object_get(json, "doorbell_delay_us")));
	assert_true(json_is_true(json_object_get(json, "valid")));
	json_decref(json);
	assert_prints("hardware: ");
	char *text = table();

	assert_null(strstr(text, "SIMULATED"));
	assert_null(strstr(text, "nan"));
	free(text);
}

static void test_json_of_a_simulated_run(void **state)
{
	double update, save, p999;
	json_int_t suspends;
	int keeps_up;

	(void)state;
	result_evaluate(&run, &verdict);
	json_t *json = result_json(&run, &verdict);

	assert_non_null(json);
	assert_int_equal(json_unpack(json, "{s:{s:F,s:F},s:{s:{s:{s:F,s:b},s:I}}}", "costs",
				     "bounce_us", &update, "save_us", &save, "arms", "trap",
				     "online", "p999_us", &p999, "keeps_up", &keeps_up, "suspends",
				     &suspends),
			 0);
	assert_true(update == 200 && save == verdict.save_us && p999 == 3000 && keeps_up == 1);
	assert_int_equal(suspends, 40);
	assert_true(json_is_null(json_object_get(json, "rate_per_s")));
	json_decref(json);
}

/* Over seeds: the median of a percentile, the mean of the steps, the sum of times and counts,
 * and the lowest and highest values beside. If one seed of an arm does not keep up, the arm does
 * not. */
static void test_seeds(void **state)
{
	static const double p99_us[] = {2000, 2900, 2300}, steps[] = {10, 13, 7};

	(void)state;
	run.seeds = 3;
	for (unsigned seed = 0; seed < run.seeds; seed++)
		for (unsigned i = 0; i < ARM_COUNT; i++) {
			struct arm_stats *one = &run.by_seed[seed][i];

			*one = run.arms[ARM_ALONE];
			one->online.p99_us = p99_us[seed];
			one->offline.steps = steps[seed];
			one->time = (struct result_time){.us = {[TIME_UPDATES] = 100},
							 .all_us = 1000 * (seed + 1)};
			one->resume_delay_us = 100;
			one->suspends = 7;
		}
	run.by_seed[1][ARM_SHARED].online.keeps_up = false;
	result_combine(&run);
	assert_true(run.arms[ARM_TRAP].online.p99_us == 2300);
	assert_true(run.arms[ARM_TRAP].offline.steps == 10);
	assert_true(run.arms[ARM_TRAP].resume_delay_us == 300);
	assert_true(time_percent(&run.arms[ARM_TRAP].time, TIME_UPDATES) == 5);
	assert_int_equal(run.arms[ARM_TRAP].suspends, 21);
	assert_int_equal(run.arms[ARM_TRAP].online.requests, 300);
	assert_true(run.spread[ARM_TRAP].p99_us.low == 2000);
	assert_true(run.spread[ARM_TRAP].p99_us.high == 2900);
	assert_true(run.spread[ARM_TRAP].of_alone.high == 1.3);
	assert_true(run.arms[ARM_TRAP].online.keeps_up);
	assert_false(run.arms[ARM_SHARED].online.keeps_up);
}

static void test_invalid_is_printed(void **state)
{
	(void)state;
	run.arms[ARM_ALONE].online.keeps_up = false;
	result_evaluate(&run, &verdict);
	json_t *json = result_json(&run, &verdict);

	assert_true(json_is_false(json_object_get(json, "valid")));
	json_decref(json);
}

static void test_reads_kfdreplay(void **state)
{
	static const char good[] = "{\"requests\":5,\"steps\":5.25,\"keeps_up\":true,\"gpu_busy_"
				   "ratio\":0.5,\"gpu_us_per_request\":800,"
				   "\"latency_us\":{\"p50\":1,\"p90\":2,\"p99\":3,\"p999\":4.5}}";
	static const char none[] = "{\"requests\":0,\"steps\":0.5,\"keeps_up\":false,\"gpu_busy_"
				   "ratio\":0,\"gpu_us_per_request\":800,"
				   "\"latency_us\":{\"p50\":0,\"p90\":0,\"p99\":0,\"p999\":0}}";
	static const char *const bad[] = {
		"{}",
		"{\"requests\":5,\"keeps_up\":true,\"gpu_busy_ratio\":0.5,\"latency_us\":{}}",
		"{\"requests\":\"5\",\"keeps_up\":true,\"gpu_busy_ratio\":0.5}",
	};
	struct online_stats online;
	struct offline_stats offline;
	json_t *json = json_loads(good, 0, NULL);

	(void)state;
	assert_int_equal(result_online(json, &online), 0);
	assert_true(online.p50_us == 1 && online.p999_us == 4.5 && online.requests == 5);
	assert_int_equal(result_offline(json, &offline), 0);
	assert_true(offline.steps == 5.25 && offline.gpu_us == 800);
	json_decref(json);

	json = json_loads(none, 0, NULL);
	assert_int_equal(result_online(json, &online), 0);
	assert_true(isnan(online.p50_us) && !online.keeps_up);
	json_decref(json);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json = json_loads(bad[i], 0, NULL);
		assert_int_equal(result_online(json, &online), -EINVAL);
		assert_int_equal(result_offline(json, &offline), -EINVAL);
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_charges_add_up, fresh),
		cmocka_unit_test_setup(test_floor_and_bound, fresh),
		cmocka_unit_test_setup(test_other_levels, fresh),
		cmocka_unit_test_setup(test_doorbell_rule, fresh),
		cmocka_unit_test_setup(test_slow_host, fresh),
		cmocka_unit_test_setup(test_possible, fresh),
		cmocka_unit_test_setup(test_arrivals_are_printed, fresh),
		cmocka_unit_test_setup(test_what_cannot_be_evaluated, fresh),
		cmocka_unit_test_setup(test_does_not_keep_up, fresh),
		cmocka_unit_test_setup(test_hardware, fresh),
		cmocka_unit_test_setup(test_json_of_a_simulated_run, fresh),
		cmocka_unit_test_setup(test_seeds, fresh),
		cmocka_unit_test_setup(test_invalid_is_printed, fresh),
		cmocka_unit_test(test_reads_kfdreplay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
