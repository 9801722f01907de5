// SPDX-License-Identifier: MIT
/*
 * Proves that percentiles are exact, that arrivals have the requested rate, and that keeps_up
 * distinguishes a growing backlog from a busy server.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tools/kfdreplay/arrivals.h"

static void percentiles(void **state)
{
	struct stats stats = {0};
	struct stats_summary s;

	(void)state;
	assert_int_equal(stats_summarise(&stats, &s), 0);
	assert_true(s.p50_us == 0 && s.max_us == 0);
	for (uint64_t i = 10000; i > 0; i--)
		assert_int_equal(stats_add(&stats, i * 1000), 0);
	assert_int_equal(stats_summarise(&stats, &s), 0);
	assert_true(s.p50_us == 5000 && s.p90_us == 9000 && s.p99_us == 9900);
	assert_true(s.p999_us == 9990 && s.max_us == 10000 && s.mean_us == 5000.5);
	/* the order of completion is kept */
	assert_int_equal(stats.latency_ns[0], 10000000);
	stats_free(&stats);
	stats_add(&stats, 7000);
	stats_summarise(&stats, &s);
	assert_true(s.p50_us == 7 && s.p999_us == 7);
	stats_free(&stats);
}

static void arrivals_have_the_rate(void **state)
{
	struct arrivals a, b;
	double last = 0, squares = 0, gaps = 100000;

	(void)state;
	arrivals_start(&a, ARRIVALS_FIXED, 250, 1);
	assert_int_equal(arrivals_next(&a), 4000000);
	assert_int_equal(arrivals_next(&a), 8000000);
	arrivals_start(&a, ARRIVALS_POISSON, 250, 1);
	arrivals_start(&b, ARRIVALS_POISSON, 250, 1);
	for (int i = 0; i < (int)gaps; i++) {
		double at = (double)arrivals_next(&a);

		assert_true(at == (double)arrivals_next(&b));
		assert_true(at >= last);
		squares += (at - last) * (at - last);
		last = at;
	}
	assert_true(fabs(last / gaps / 4e6 - 1) < 0.02);
	/* the mean square of an exponential distribution is twice its squared mean */
	assert_true(fabs(squares / gaps / 4e6 / 4e6 - 2) < 0.1);
	arrivals_start(&b, ARRIVALS_POISSON, 250, 2);
	arrivals_start(&a, ARRIVALS_POISSON, 250, 1);
	assert_true(arrivals_next(&a) != arrivals_next(&b));
}

/* Simulates a server that executes one request at a time, in order, for `seconds`, with a stall
 * from stall_from to stall_to (s). Returns whether stats_keeps_up() reports that it keeps up. */
static bool serve(enum arrivals_kind kind, double load, double seconds, uint64_t seed,
		  double stall_from, double stall_to)
{
	const double service = 1e6;
	struct arrivals arrivals;
	struct stats stats = {0};
	double free_at = 0, end = seconds * 1e9;
	uint64_t arrived = 0;
	bool result;

	arrivals_start(&arrivals, kind, load * 1e9 / service, seed);
	for (;;) {
		double at = (double)arrivals_next(&arrivals);

		if (at > end)
			break;
		arrived++;
		free_at = (at > free_at ? at : free_at) + service;
		if (free_at > stall_from * 1e9 && free_at < stall_to * 1e9)
			free_at = stall_to * 1e9 + service;
		if (free_at <= end)
			stats_add(&stats, (uint64_t)(free_at - at));
	}
	result = stats_keeps_up(&stats, arrived);
	stats_free(&stats);
	return result;
}

static void keeps_up(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		for (double seconds = 0.1; seconds < 20; seconds *= 10) {
			assert_true(serve(ARRIVALS_POISSON, 0.2, seconds, seed, 0, 0));
			assert_true(serve(ARRIVALS_POISSON, 0.5, seconds, seed, 0, 0));
			assert_true(serve(ARRIVALS_FIXED, 0.99, seconds, seed, 0, 0));
		}
		assert_true(serve(ARRIVALS_POISSON, 0.9, 4, seed, 0, 0));
		/* a stall that is being worked off, or has been */
		assert_true(serve(ARRIVALS_POISSON, 0.5, 4, seed, 1, 2));
		assert_true(serve(ARRIVALS_POISSON, 0.5, 4, seed, 0, 1));
	}
}

static void does_not_keep_up(void **state)
{
	static const double loads[] = {2, 5, 9, 20, 1000};

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
			for (double seconds = 0.1; seconds < 5; seconds *= 6)
				assert_false(
					serve(ARRIVALS_POISSON, loads[i], seconds, seed, 0, 0));
		/* fewer arrivals at this load may by chance be no overload */
		assert_false(serve(ARRIVALS_POISSON, 1.4, 0.6, seed, 0, 0));
	}
}

static void edges(void **state)
{
	struct stats stats = {0};

	(void)state;
	assert_true(stats_keeps_up(&stats, 0));
	assert_false(stats_keeps_up(&stats, 1));
	for (int i = 0; i < 7; i++)
		stats_add(&stats, 1000);
	assert_true(stats_keeps_up(&stats, 12));
	assert_false(stats_keeps_up(&stats, 13)); /* too few completions to detect a recovery */
	stats_add(&stats, 1000);
	/* all latencies are equal: the backlog does not grow */
	assert_true(stats_keeps_up(&stats, 14));
	stats_free(&stats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles), cmocka_unit_test(arrivals_have_the_rate),
		cmocka_unit_test(keeps_up),    cmocka_unit_test(does_not_keep_up),
		cmocka_unit_test(edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
