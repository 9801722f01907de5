// SPDX-License-Identifier: MIT
/* Proves the histogram: its accuracy, subtraction, and its JSON. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "common/histogram.h"
#include "common/json_util.h"

#define VALUES 20000

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void buckets_cover_everything(void **state)
{
	(void)state;
	for (uint64_t value = 0; value < 32; value++)
		assert_int_equal(hist_bucket_upper(hist_bucket(value)), value);
	/* A value is in its bucket, and the value after a bucket's end is in the next one. */
	for (unsigned bucket = 0; bucket + 1 < HIST_BUCKETS; bucket++) {
		assert_int_equal(hist_bucket(hist_bucket_upper(bucket)), bucket);
		assert_int_equal(hist_bucket(hist_bucket_upper(bucket) + 1), bucket + 1);
	}
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
	assert_int_equal(hist_bucket_upper(HIST_BUCKETS - 1), UINT64_MAX);
}

/* Values over nine orders of magnitude: the histogram's percentile is between that of the sorted
 * values and 3.2 % more. */
static void percentiles(void **state)
{
	static struct hist hist;
	static uint64_t values[VALUES];
	const double points[] = {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0};
	uint64_t random = 7, sum = 0;

	(void)state;
	memset(&hist, 0, sizeof(hist));
	assert_int_equal(hist_percentile(&hist, 0.5), 0);
	for (int i = 0; i < VALUES; i++) {
		values[i] = next_random(&random) >> (34 + next_random(&random) % 30);
		sum += values[i];
		hist_add(&hist, values[i]);
	}
	qsort(values, VALUES, sizeof(values[0]), by_value);
	assert_int_equal(hist.count, VALUES);
	assert_int_equal(hist.sum, sum);
	assert_int_equal(hist.max, values[VALUES - 1]);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		size_t rank = (size_t)(points[i] * VALUES);
		uint64_t exact = values[rank > 0 ? rank - 1 : 0];
		uint64_t estimate = hist_percentile(&hist, points[i]);

		assert_true(estimate >= exact);
		assert_true((double)estimate <= (double)exact * 1.032);
	}
	assert_int_equal(hist_percentile(&hist, 1.0), values[VALUES - 1]);
}

static void subtracting(void **state)
{
	static struct hist all, earlier, span;
	uint64_t random = 3;

	(void)state;
	memset(&all, 0, sizeof(all));
	memset(&span, 0, sizeof(span));
	for (int i = 0; i < 1000; i++)
		hist_add(&all, next_random(&random) >> 40);
	earlier = all;
	for (int i = 0; i < 500; i++) {
		uint64_t value = next_random(&random) >> 50;

		hist_add(&all, value);
		hist_add(&span, value);
	}
	hist_subtract(&all, &earlier);
	assert_int_equal(all.count, span.count);
	assert_int_equal(all.sum, span.sum);
	assert_memory_equal(all.buckets, span.buckets, sizeof(all.buckets));
	assert_true(all.max >= span.max);
	assert_true((double)all.max <= (double)span.max * 1.032);
	earlier = all;
	hist_subtract(&all, &earlier);
	assert_int_equal(all.count, 0);
	assert_int_equal(all.max, 0);
	assert_int_equal(hist_percentile(&all, 0.99), 0);
}

static void json_round_trip(void **state)
{
	static struct hist hist, back;
	uint64_t random = 5;

	(void)state;
	memset(&hist, 0, sizeof(hist));
	for (int i = 0; i < 1000; i++)
		hist_add(&hist, next_random(&random) >> (20 + next_random(&random) % 44));
	json_t *json = hist_to_json(&hist);

	assert_non_null(json);
	char *text = json_dumps(json, 0);
	json_t *parsed = json_loads(text, 0, NULL);

	assert_non_null(parsed);
	assert_int_equal(hist_from_json(parsed, &back), 0);
	assert_memory_equal(&hist, &back, sizeof(hist));
	json_decref(parsed);
	json_decref(json);
	free(text);
}

static void json_refuses(void **state)
{
	static const char *const bad[] = {
		"[]",
		"{}",
		"{\"count\":1,\"sum\":1,\"max\":1}",
		"{\"count\":1,\"sum\":1,\"max\":1,\"buckets\":{}}",
		"{\"count\":1,\"sum\":1,\"max\":1,\"buckets\":[1]}",
		"{\"count\":1,\"sum\":1,\"max\":1,\"buckets\":[[1]]}",
		"{\"count\":1,\"sum\":1,\"max\":1,\"buckets\":[[1,-1]]}",
		"{\"count\":1,\"sum\":1,\"max\":1,\"buckets\":[[-1,1]]}",
		"{\"count\":\"1\",\"sum\":1,\"max\":1,\"buckets\":[]}",
		"{\"count\":-1,\"sum\":1,\"max\":1,\"buckets\":[]}",
		"{\"count\":0,\"sum\":-1,\"max\":1,\"buckets\":[]}",
		"{\"count\":0,\"sum\":0,\"max\":-1,\"buckets\":[]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *json = json_loads(bad[i], 0, NULL);
		static struct hist hist;

		assert_non_null(json);
		if (hist_from_json(json, &hist) != -EINVAL)
			fail_msg("taken for a histogram: %s", bad[i]);
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_cover_everything),
		cmocka_unit_test(percentiles),
		cmocka_unit_test(subtracting),
		cmocka_unit_test(json_round_trip),
		cmocka_unit_test(json_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
