// SPDX-License-Identifier: MIT
/*
 * Proves the statistics of a process's queues over time: ids, changes, presence, and their
 * interpretation. A source without ids is not taken for a process without queues.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/record/sampling.h"

/* Returns a list of these ids, on node 1, of type AQL, as reported by sysfs. */
static struct observe_list of(size_t count, const uint32_t *ids)
{
	struct observe_list list = {0};

	for (size_t i = 0; i < count; i++) {
		struct observe_queue *queue = observe_list_add(&list);

		assert_non_null(queue);
		queue->id = ids[i];
		queue->gpu_id = 1;
		observe_set(queue, OBSERVE_TYPE, OBSERVE_AQL, OBSERVE_SYSFS);
		observe_set(queue, OBSERVE_RING_BYTES, 4096, OBSERVE_SYSFS);
	}
	return list;
}

static void add(struct sampling *s, size_t count, const uint32_t *ids)
{
	struct observe_list list = of(count, ids);

	sampling_add(s, &list, OBSERVE_SYSFS);
	observe_list_free(&list);
}
#define ADD(s, ...)                                                                                \
	add(s, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

static void ids_are(const struct sampling *s, const char *expected)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	sampling_ids(s, out);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void test_stable(void **state)
{
	struct sampling s = {0};
	char text[SAMPLING_MEANING];

	(void)state;
	ADD(&s, 0, 1, 2, 3);
	assert_int_equal(sampling_verdict(&s), SAMPLING_ONCE);
	assert_false(s.changed);
	ADD(&s, 3, 1, 0, 2); /* the order has no meaning */
	ADD(&s, 0, 1, 2, 3);
	ids_are(&s, "0-3");
	assert_int_equal(sampling_verdict(&s), SAMPLING_STABLE);
	assert_int_equal(s.changes, 0);
	assert_int_equal(s.count, 4);
	assert_int_equal(s.queue[3].seen, 3);
	assert_non_null(strstr(sampling_meaning(&s, "4711", text), "same in all 3 samples"));
	sampling_free(&s);
}

static void test_changes(void **state)
{
	struct sampling s = {0};

	(void)state;
	ADD(&s, 0, 1, 2, 7);
	ADD(&s, 0, 1, 7, 8, 9);
	assert_true(s.changed);
	assert_int_equal(s.came_count, 2);
	assert_int_equal(s.came[0], 8);
	assert_int_equal(s.gone_count, 1);
	assert_int_equal(s.gone[0], 2);
	ids_are(&s, "0-1,7-9");
	ADD(&s, 0, 1, 7, 8, 9);
	assert_false(s.changed);
	ADD(&s, 0, 1, 2, 7);
	assert_int_equal(s.changes, 2);
	assert_int_equal(s.min, 4);
	assert_int_equal(s.max, 5);
	assert_int_equal(s.total, 18);
	assert_int_equal(s.queue[2].id, 2);
	assert_int_equal(s.queue[2].seen, 2);
	assert_int_equal(s.queue[2].came, 2);
	assert_int_equal(sampling_verdict(&s), SAMPLING_CHANGING);
	sampling_free(&s);
}

/* The same number of queues and the same ids, but different queues. */
static void test_another_queue_of_that_id(void **state)
{
	struct sampling s = {0};
	struct observe_list list = of(2, (uint32_t[]){0, 1});

	(void)state;
	sampling_add(&s, &list, OBSERVE_SYSFS);
	/* A less exact or additional value is no contradiction. */
	list.queue[0].field[OBSERVE_TYPE].value = OBSERVE_COMPUTE;
	list.queue[0].field[OBSERVE_RING_BYTES] = (struct observe_value){0};
	list.queue[0].field[OBSERVE_RING_ADDRESS] =
		(struct observe_value){.value = 0x1000, .source = OBSERVE_DAEMON};
	sampling_add(&s, &list, OBSERVE_DAEMON);
	assert_false(s.changed);
	list.queue[1].field[OBSERVE_RING_BYTES].value = 8192;
	sampling_add(&s, &list, OBSERVE_SYSFS);
	assert_true(s.changed);
	assert_int_equal(s.queue[1].another, 1);
	list.queue[1].gpu_id = 2;
	sampling_add(&s, &list, OBSERVE_SYSFS);
	assert_int_equal(s.queue[1].another, 2);
	assert_int_equal(s.gone[0], 1);
	assert_int_equal(s.came[0], 1);
	assert_int_equal(s.changes, 2);
	assert_int_equal(s.by_source[OBSERVE_SYSFS], 3);
	observe_list_free(&list);
	sampling_free(&s);
}

static void test_unknown_is_not_none(void **state)
{
	struct sampling s = {0};
	struct observe_list none = {0};

	(void)state;
	sampling_add(&s, &none, OBSERVE_NO_SOURCE);
	assert_int_equal(sampling_verdict(&s), SAMPLING_UNKNOWN);
	sampling_add(&s, &none, OBSERVE_SYSFS);
	assert_int_equal(sampling_verdict(&s), SAMPLING_NONE);
	ADD(&s, 5);
	sampling_add(&s, &none, OBSERVE_NO_SOURCE);
	ADD(&s, 5);
	assert_false(s.changed);
	assert_int_equal(s.samples, 3);
	assert_int_equal(s.unknown, 2);
	assert_int_equal(s.queue[0].seen, 2);
	assert_int_equal(s.min, 0);
	sampling_free(&s);
}

/* debugfs has no ids: the count is right, and a change of rings is detected. */
static void test_without_ids(void **state)
{
	struct sampling s = {0};
	struct observe_list list = of(2, (uint32_t[]){OBSERVE_NO_ID, OBSERVE_NO_ID});

	(void)state;
	observe_set(&list.queue[0], OBSERVE_RING_ADDRESS, 0x1000, OBSERVE_MQD);
	observe_set(&list.queue[1], OBSERVE_RING_ADDRESS, 0x2000, OBSERVE_MQD);
	sampling_add(&s, &list, OBSERVE_MQD);
	struct observe_queue swap = list.queue[0];

	list.queue[0] = list.queue[1];
	list.queue[1] = swap;
	sampling_add(&s, &list, OBSERVE_MQD);
	assert_false(s.changed);
	assert_int_equal(s.max, 2);
	assert_int_equal(sampling_verdict(&s), SAMPLING_UNNAMED);
	list.queue[0].field[OBSERVE_RING_ADDRESS].value = 0x3000;
	sampling_add(&s, &list, OBSERVE_MQD);
	assert_true(s.changed);
	ids_are(&s, "");
	observe_list_free(&list);
	sampling_free(&s);
}

/* A recording can contain anything: an id twice, contexts, more ids than are possible. */
static void test_hostile_lists(void **state)
{
	struct sampling s = {0};
	struct observe_list list = of(3, (uint32_t[]){4, 4, 0});

	(void)state;
	list.queue[2].context = 1;
	sampling_add(&s, &list, OBSERVE_SYSFS);
	assert_int_equal(s.now, 2);
	ids_are(&s, "4, context 1: 0");
	observe_list_clear(&list);
	for (uint32_t i = 0; i < SAMPLING_QUEUES + 10; i++)
		observe_list_add(&list)->id = 2 * i;
	sampling_add(&s, &list, OBSERVE_SYSFS);
	assert_int_equal(s.now, SAMPLING_QUEUES + 10);
	assert_int_equal(s.count, SAMPLING_QUEUES);
	assert_true(s.unkept > 0);
	observe_list_free(&list);
	sampling_free(&s);
}

static void test_json(void **state)
{
	struct sampling s = {0};

	(void)state;
	json_t *json = sampling_json(&s);

	assert_true(json_is_null(json_object_get(json, "queues")));
	assert_true(json_is_null(json_object_get(json, "stable")));
	json_decref(json);
	ADD(&s, 0);
	ADD(&s, 0, 1);
	json = sampling_json(&s);
	assert_true(json_is_false(json_object_get(json, "stable")));
	const json_t *second = json_array_get(json_object_get(json, "presence"), 1);

	assert_float_equal(json_real_value(json_object_get(second, "present_ratio")), 0.5, 1e-9);
	json_decref(json);
	sampling_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stable),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_another_queue_of_that_id),
		cmocka_unit_test(test_unknown_is_not_none),
		cmocka_unit_test(test_without_ids),
		cmocka_unit_test(test_hostile_lists),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
