// SPDX-License-Identifier: MIT
/* Proves the ratio of queues to hardware slots: MQDs and active HQDs by GPU and in total. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/inspect/hqd_ratio.h"

static const struct topology_gpu gpus[] = {
	{.gpu_id = 30, .xccs = 4},
	{.gpu_id = 10, .xccs = 4},
	{.gpu_id = 20, .xccs = 8},
};
static struct observe_list list;
static struct ratio each[4], all;
static size_t n;

/* mqds, hqds: UNKNOWN if no source reports the number. */
#define UNKNOWN (-1)
static void queue(uint32_t gpu_id, enum observe_type type, int mqds, int hqds)
{
	struct observe_queue *q = observe_list_add(&list);

	assert_non_null(q);
	q->gpu_id = gpu_id;
	observe_set(q, OBSERVE_TYPE, type, OBSERVE_SYSFS);
	if (mqds != UNKNOWN)
		observe_set(q, OBSERVE_MQDS, (uint64_t)mqds, OBSERVE_MQD);
	if (hqds != UNKNOWN)
		observe_set(q, OBSERVE_HQDS, (uint64_t)hqds, OBSERVE_HQD);
}

static void sum(void)
{
	n = ratio_of(&list, gpus, 3, each, 4, &all);
	observe_list_clear(&list);
}

static void is(const struct ratio *ratio, const char *text)
{
	char room[RATIO_TEXT];

	assert_string_equal(ratio_text(room, ratio), text);
}

static void test_each_gpu(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		queue(30, OBSERVE_AQL, 4, 4);
		queue(10, OBSERVE_COMPUTE, 4, 4);
	}
	queue(10, OBSERVE_SDMA, 1, 1);
	sum();
	assert_int_equal(n, 2);
	assert_int_equal(each[0].gpu_id, 10);
	assert_int_equal(each[0].queues, 3);
	assert_int_equal(each[0].hqds, 12);
	assert_int_equal(each[0].sdma_queues, 1);
	assert_int_equal(each[1].gpu_id, 30);
	assert_int_equal(each[1].sdma_queues, 0);
	assert_int_equal(all.queues, 6);
	assert_int_equal(all.mqds, 24);
	assert_int_equal(all.hqds, 24);
	assert_int_equal(all.xccs, 4);
	assert_int_equal(all.sdma_hqds, 1);
	is(&all, "1:4");
}

static void test_parts_that_differ(void **state)
{
	(void)state;
	queue(10, OBSERVE_AQL, 4, 4);
	queue(20, OBSERVE_AQL, 8, 8);
	queue(99, OBSERVE_AQL, 6, 6); /* with 6, so that the mean is a whole number */
	sum();
	assert_int_equal(n, 3);
	is(&each[0], "1:4");
	is(&each[1], "1:8");
	is(&all, "mixed");
	assert_int_equal(all.xccs, 0);
	assert_int_equal(each[2].xccs, 0);
	assert_int_equal(all.torn, 0);
}

static void test_not_mapped(void **state)
{
	(void)state;
	queue(10, OBSERVE_AQL, 4, 0);
	queue(10, OBSERVE_AQL, 4, 4);
	sum();
	assert_int_equal(all.idle, 1);
	assert_int_equal(all.mapped, 1);
	is(&all, "1:4");
	queue(10, OBSERVE_AQL, 4, 3);
	queue(10, OBSERVE_AQL, 4, 0);
	sum();
	assert_int_equal(all.torn, 1);
	is(&all, "1:3");
	queue(10, OBSERVE_AQL, 4, 0);
	sum();
	is(&all, "-");
}

static void test_not_known(void **state)
{
	(void)state;
	queue(10, OBSERVE_AQL, 4, 4);
	queue(10, OBSERVE_AQL, UNKNOWN, UNKNOWN);
	sum();
	assert_false(all.mqds_known);
	assert_false(all.hqds_known);
	is(&all, "-");
	sum();
	assert_int_equal(n, 0);
	is(&all, "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_gpu),
		cmocka_unit_test(test_parts_that_differ),
		cmocka_unit_test(test_not_mapped),
		cmocka_unit_test(test_not_known),
	};
	int failed = cmocka_run_group_tests_name("ratio", tests, NULL, NULL);

	observe_list_free(&list);
	return failed;
}
