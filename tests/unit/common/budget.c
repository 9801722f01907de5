// SPDX-License-Identifier: MIT
/*
 * Proves that a rate limit (`struct budget`) grants its burst and then one event per period,
 * however often it is requested, and that budget_next() returns the time of the next grant.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <stdlib.h>

#include "common/ratelimit.h"

#define MS 1000000u

static const struct budget_rule rule = {.burst = 5, .period_ns = 10 * MS};

static unsigned take_all(struct budget *budget, uint64_t now)
{
	unsigned n = 0;

	while (budget_take(budget, &rule, now))
		n++;
	return n;
}

static void a_burst_then_one_a_period(void **state)
{
	struct budget budget = {0};
	uint64_t now = 7000 * MS;

	(void)state;
	assert_int_equal(take_all(&budget, now), 5);
	assert_int_equal(take_all(&budget, now + 10 * MS - 1), 0);
	assert_int_equal(take_all(&budget, now + 10 * MS), 1);
	assert_int_equal(take_all(&budget, now + 40 * MS), 3);
	assert_false(budget_full(&budget, now + 89 * MS));
	assert_true(budget_full(&budget, now + 90 * MS));
	assert_int_equal(take_all(&budget, now + 1000 * MS), 5);
}

static void it_returns_when(void **state)
{
	struct budget budget = {0};
	uint64_t now = 1, next;

	(void)state;
	assert_int_equal(budget_next(&budget, &rule, now), now);
	take_all(&budget, now);
	for (int i = 0; i < 100; i++) {
		next = budget_next(&budget, &rule, now);
		assert_true(next > now);
		assert_int_equal(take_all(&budget, next - 1), 0);
		assert_true(budget_take(&budget, &rule, next));
		now = next;
	}
	assert_int_equal(now, 1 + 100 * 10 * MS);
}

/* Requests a million times a second, and at random times. */
static void never_more(void **state)
{
	struct budget often = {0}, random_times = {0};
	unsigned taken_often = 0, taken = 0;
	uint64_t now = 0;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		taken_often += budget_take(&often, &rule, (uint64_t)i * 1000u);
	assert_int_equal(taken_often, 5 + 99);
	srandom(3);
	for (int i = 0; i < 100000; i++) {
		now += (uint64_t)random() % (20 * MS);
		taken += budget_take(&random_times, &rule, now);
		assert_true(taken <= 5 + now / (10 * MS));
	}
	assert_true(taken > 60000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_then_one_a_period),
		cmocka_unit_test(it_returns_when),
		cmocka_unit_test(never_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
