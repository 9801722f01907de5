// SPDX-License-Identifier: MIT
/*
 * Proves what `kfdsched verify` reports of several sources: real differences, apparent ones that
 * are none, and what cannot be determined.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/inspect/verify.h"

#define GPU 12440
#define RING 0x7f0000100000

static const struct topology_gpu gpus[] = {{.gpu_id = GPU, .xccs = 4}};
static struct observation seen;
static struct verify v;

static int clean(void **state)
{
	(void)state;
	observation_free(&seen);
	verify_free(&v);
	return 0;
}

static struct observe_queue *add(enum observe_source source, uint32_t id, enum observe_type type,
				 uint64_t bytes)
{
	struct observe_queue *queue;

	seen.result[source].queried = true;
	queue = observe_list_add(&seen.result[source].list);
	assert_non_null(queue);
	queue->id = id;
	queue->gpu_id = GPU;
	queue->source_mask = OBSERVE_BIT(source);
	observe_set(queue, OBSERVE_TYPE, type, source);
	observe_set(queue, OBSERVE_RING_BYTES, bytes, source);
	return queue;
}

static void in_sysfs(uint32_t id, uint64_t bytes)
{
	add(OBSERVE_SYSFS, id, OBSERVE_COMPUTE, bytes);
}

static struct observe_queue *in_shm(uint32_t id, uint64_t bytes)
{
	struct observe_queue *queue = add(OBSERVE_SHM, id, OBSERVE_AQL, bytes);

	observe_set(queue, OBSERVE_RING_ADDRESS, RING + id * 0x100000, OBSERVE_SHM);
	observe_set(queue, OBSERVE_WPTR_ADDRESS, 0x38 + id * 0x1000, OBSERVE_SHM);
	observe_set(queue, OBSERVE_RPTR_ADDRESS, 0x80 + id * 0x1000, OBSERVE_SHM);
	return queue;
}

/* nth: number of the queue whose ring it has. hqds: active slots; 0: none. */
static struct observe_queue *in_debugfs(uint32_t nth, uint64_t bytes, unsigned hqds)
{
	struct observe_queue *queue, *slot;

	seen.result[OBSERVE_HQD].queried = true;
	if (hqds) {
		slot = add(OBSERVE_HQD, OBSERVE_NO_ID, OBSERVE_AQL, bytes);
		observe_set(slot, OBSERVE_RING_ADDRESS, RING + nth * 0x100000, OBSERVE_HQD);
		observe_set(slot, OBSERVE_DOORBELL, 8 + nth, OBSERVE_HQD);
		observe_set(slot, OBSERVE_HQDS, hqds, OBSERVE_HQD);
	}
	queue = add(OBSERVE_MQD, OBSERVE_NO_ID, OBSERVE_AQL, bytes);
	observe_set(queue, OBSERVE_RING_ADDRESS, RING + nth * 0x100000, OBSERVE_MQD);
	observe_set(queue, OBSERVE_WPTR_ADDRESS, 0x38 + nth * 0x1000, OBSERVE_MQD);
	observe_set(queue, OBSERVE_RPTR_ADDRESS, 0x80 + nth * 0x1000, OBSERVE_MQD);
	observe_set(queue, OBSERVE_DOORBELL, 8 + nth, OBSERVE_MQD);
	observe_set(queue, OBSERVE_MQDS, 4, OBSERVE_MQD);
	return queue;
}

/* Merges the lists of all sources and compares them. */
static void compare(void)
{
	size_t unmatched;

	observe_list_clear(&seen.queues);
	FOR_VERIFIED (s)
		if (s != OBSERVE_HQD)
			observe_merge(&seen.queues, &seen.result[s].list, &unmatched);
	verify_compare(&seen, gpus, 1, &v);
}

/* Asserts the text of the nth difference. */
static void expect_text(size_t n, const char *statement)
{
	char text[VERIFY_TEXT];

	assert_true(n < v.differences);
	assert_string_equal(verify_text(text, &v.difference[n], "0"), statement);
}

static void test_agree(void **state)
{
	(void)state;
	for (uint32_t id = 0; id < 3; id++) {
		in_shm(id, 65536);
		in_sysfs(id, 65536);
	}
	/* The newest is listed first, and one is not mapped. */
	in_debugfs(2, 65536, 4);
	in_debugfs(1, 65536, 0);
	in_debugfs(0, 65536, 4);
	compare();
	assert_int_equal(v.rows, 3);
	assert_int_equal(v.differences, 0);
	assert_int_equal(v.alike, 0);
	assert_int_equal(verify_verdict(&v), VERIFY_AGREE);
	assert_int_equal(v.row[1].reported[OBSERVE_MQD], VERIFY_REPORTED);
	assert_int_equal(v.row[1].reported[OBSERVE_HQD], VERIFY_NOT);
	assert_int_equal(v.row[2].reported[OBSERVE_HQD], VERIFY_REPORTED);
	assert_int_equal(v.row[0].reported[OBSERVE_TRAP], VERIFY_NO_RESULT);
}

/* Each source that names another GPU than the first one is a difference of its own. */
static void test_other_gpus(void **state)
{
	(void)state;
	in_shm(0, 65536);
	in_sysfs(0, 65536);
	add(OBSERVE_TRAP, 0, OBSERVE_AQL, 65536);
	compare();
	assert_int_equal(v.differences, 0);
	for (size_t s = 0; s < 2; s++)
		seen.result[s ? OBSERVE_TRAP : OBSERVE_SYSFS].list.queue[0].gpu_id = GPU + 1;
	verify_compare(&seen, gpus, 1, &v);
	assert_int_equal(v.differences, 2);
	assert_int_equal(v.difference[0].what, VERIFY_NODE);
	assert_int_equal(v.difference[1].what, VERIFY_NODE);
	assert_int_not_equal(v.difference[0].b, v.difference[1].b);
}

static void test_alike(void **state)
{
	(void)state;
	in_sysfs(0, 4096);
	in_sysfs(1, 65536);
	in_sysfs(2, 65536);
	in_debugfs(7, 65536, 4);
	in_debugfs(6, 65536, 4);
	in_debugfs(5, 4096, 4);
	compare();
	assert_int_equal(v.rows, 3);
	assert_int_equal(v.differences, 0);
	assert_int_equal(v.alike, 2);
	assert_int_equal(verify_verdict(&v), VERIFY_AGREE);
	assert_int_equal(v.row[0].reported[OBSERVE_MQD], VERIFY_REPORTED);
	assert_int_equal(v.row[1].reported[OBSERVE_MQD], VERIFY_ALIKE);
	assert_non_null(v.row[1].by[OBSERVE_HQD]);
	assert_non_null(v.row[2].by[OBSERVE_HQD]);
}

static void test_missing(void **state)
{
	(void)state;
	in_shm(0, 65536);
	in_sysfs(0, 65536);
	in_sysfs(1, 65536);
	in_debugfs(0, 65536, 4);
	compare();
	assert_int_equal(v.differences, 2);
	expect_text(0, "queue 1 (GPU 0): sysfs lists it, shm does not");
	expect_text(1, "queue 1 (GPU 0): sysfs lists it, mqd does not");
	assert_int_equal(verify_verdict(&v), VERIFY_DIFFER);
}

static void test_only_in_debugfs(void **state)
{
	(void)state;
	in_sysfs(0, 65536);
	in_debugfs(0, 65536, 4);
	in_debugfs(1, 4096, 4);
	compare();
	assert_int_equal(v.rows, 2);
	assert_int_equal(v.differences, 1);
	expect_text(0, "a queue of GPU 0 with its ring at 0x7f0000200000: mqd lists it, sysfs does "
		       "not");
}

static void test_values(void **state)
{
	struct observe_queue *queue;

	(void)state;
	queue = in_shm(0, 65536);
	observe_set(queue, OBSERVE_PRIORITY, 7, OBSERVE_SHM);
	in_sysfs(0, 4096);
	queue = in_debugfs(0, 65536, 4);
	observe_set(queue, OBSERVE_PRIORITY, 9, OBSERVE_MQD);
	/* the pointers are the same, so it is the same queue */
	queue->field[OBSERVE_RING_ADDRESS].value += 0x1000;
	seen.result[OBSERVE_HQD].list.queue[0].field[OBSERVE_RING_ADDRESS].value += 0x1000;
	compare();
	assert_int_equal(v.rows, 1);
	expect_text(0, "queue 0 (GPU 0): ring_bytes is 64 KiB in shm, and 4 KiB in sysfs");
	expect_text(1, "queue 0 (GPU 0): ring_address is 0x7f0000100000 in shm, and 0x7f0000101000 "
		       "in mqd");
	expect_text(3, "queue 0 (GPU 0): queue_priority is 7 in shm, and 9 in mqd");
	assert_int_equal(v.differences, 4); /* the ring of the slot differs, too */
}

static void test_types(void **state)
{
	(void)state;
	add(OBSERVE_TRAP, 0, OBSERVE_PM4, 65536);
	in_sysfs(0, 65536);
	compare();
	assert_int_equal(v.differences, 0);
	add(OBSERVE_SHM, 0, OBSERVE_AQL, 65536);
	compare();
	expect_text(0, "queue 0 (GPU 0): type is aql in shm, and pm4 in trap");
	assert_int_equal(v.differences, 1);
}

static void test_counts(void **state)
{
	(void)state;
	in_shm(0, 65536);
	in_debugfs(0, 65536, 3)->field[OBSERVE_MQDS].value = 2;
	compare();
	assert_int_equal(v.differences, 2);
	expect_text(0, "queue 0 (GPU 0): it has 2 MQDs, and its node has 4 XCCs");
	expect_text(1,
		    "queue 0 (GPU 0): it is active in 3 hardware slots, and its node has 4 XCCs");
}

/* Level weight gives the driver a lower priority than the process has. */
static void test_lowered(void **state)
{
	(void)state;
	observe_set(in_shm(0, 65536), OBSERVE_PRIORITY, 7, OBSERVE_SHM);
	observe_set(in_debugfs(0, 65536, 4), OBSERVE_PRIORITY, 0, OBSERVE_MQD);
	compare();
	assert_int_equal(v.differences, 0);
	assert_int_equal(v.lowered, 1);
	clean(NULL);
	observe_set(in_shm(0, 65536), OBSERVE_PRIORITY, 0, OBSERVE_SHM);
	observe_set(in_debugfs(0, 65536, 4), OBSERVE_PRIORITY, 7, OBSERVE_MQD);
	compare();
	assert_int_equal(v.differences, 1);
	assert_int_equal(v.lowered, 0);
}

/* The other sources do not list these queues. */
static void test_not_for_all(void **state)
{
	(void)state;
	in_sysfs(0, 65536);
	add(OBSERVE_SHM, 0, OBSERVE_AQL, 65536);
	add(OBSERVE_SHM, 1, OBSERVE_DRM, 65536);
	add(OBSERVE_SHM, 2, OBSERVE_AQL, 65536)->context = 1;
	compare();
	assert_int_equal(v.rows, 3);
	assert_int_equal(v.differences, 0);
}

static void test_uncertain(void **state)
{
	(void)state;
	in_sysfs(0, 65536);
	compare();
	assert_int_equal(verify_verdict(&v), VERIFY_UNCERTAIN);
	/* The daemon's list is derived from the shim's. */
	clean(NULL);
	in_shm(0, 65536);
	add(OBSERVE_DAEMON, 0, OBSERVE_AQL, 65536);
	compare();
	assert_int_equal(verify_verdict(&v), VERIFY_UNCERTAIN);
	/* A source that failed does not count, and queues missing in it are no difference. */
	seen.result[OBSERVE_SYSFS].queried = true;
	seen.result[OBSERVE_SYSFS].error = -ENOENT;
	compare();
	assert_int_equal(v.differences, 0);
	assert_int_equal(verify_verdict(&v), VERIFY_UNCERTAIN);
}

static void test_what_differs_again(void **state)
{
	struct verify before;

	(void)state;
	in_shm(0, 65536);
	in_sysfs(0, 4096);
	in_sysfs(1, 65536);
	compare();
	assert_int_equal(v.differences, 2);
	before = v;
	v = (struct verify){0};
	clean(NULL);
	/* The shim lists the second queue now. The first has another size, which is wrong again. */
	in_shm(0, 65536);
	in_shm(1, 65536);
	in_shm(2, 65536);
	in_sysfs(0, 8192);
	in_sysfs(1, 65536);
	compare();
	assert_int_equal(v.differences, 2);
	verify_keep(&v, &before);
	assert_int_equal(v.differences, 1);
	expect_text(0, "queue 0 (GPU 0): ring_bytes is 64 KiB in shm, and 8 KiB in sysfs");
	verify_free(&before);
}

#define TEST(name) cmocka_unit_test_teardown(test_##name, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(agree),
		TEST(other_gpus),
		TEST(alike),
		TEST(missing),
		TEST(only_in_debugfs),
		TEST(values),
		TEST(types),
		TEST(counts),
		TEST(not_for_all),
		TEST(uncertain),
		TEST(what_differs_again),
		TEST(lowered),
	};

	return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
