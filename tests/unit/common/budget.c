// SPDX-License-Identifier: MIT
/*
 * Proves that a rate limit (`struct ratelimit`) grants its burst and then one event per period,
 * however often it is requested, and that ratelimit_next() returns the time of the next grant.
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

static const struct ratelimit_rule rule = {.burst = 5, .period_ns = 10 * MS};

static unsigned take_all(struct ratelimit *ratelimit, uint64_t now)
{
	unsigned n = 0;

	while (ratelimit_take(ratelimit, &rule, now))
		n++;
	return n;
}

static void a_burst_then_one_a_period(void **state)
{
	struct ratelimit ratelimit = {0};
	uint64_t now = 7000 * MS;

	(void)state;
	assert_int_equal(take_all(&ratelimit, now), 5);
	assert_int_equal(take_all(&ratelimit, now + 10 * MS - 1), 0);
	assert_int_equal(take_all(&ratelimit, now + 10 * MS), 1);
	assert_int_equal(take_all(&ratelimit, now + 40 * MS), 3);
	assert_false(ratelimit_full(&ratelimit, now + 89 * MS));
	assert_true(ratelimit_full(&ratelimit, now + 90 * MS));
	assert_int_equal(take_all(&ratelimit, now + 1000 * MS), 5);
}

static void it_returns_when(void **state)
{
	struct ratelimit ratelimit = {0};
	uint64_t now = 1, next;

	(void)state;
	assert_int_equal(ratelimit_next(&ratelimit, &rule, now), now);
	take_all(&ratelimit, now);
	for (int i = 0; i < 100; i++) {
		next = ratelimit_next(&ratelimit, &rule, now);
		assert_true(next > now);
		assert_int_equal(take_all(&ratelimit, next - 1), 0);
		assert_true(ratelimit_take(&ratelimit, &rule, next));
		now = next;
	}
	assert_int_equal(now, 1 + 100 * 10 * MS);
}

/* Requests a million times a second, and at random times. */
static void never_more(void **state)
{
	struct ratelimit often = {0}, random_times = {0};
	unsigned taken_often = 0, taken = 0;
	uint64_t now = 0;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		taken_often += ratelimit_take(&often, &rule, (uint64_t)i * 1000u);
	assert_int_equal(taken_often, 5 + 99);
	srandom(3);
	for (int i = 0; i < 100000; i++) {
		now += (uint64_t)random() % (20 * MS);
		taken += ratelimit_take(&random_times, &rule, now);
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
