// SPDX-License-Identifier: MIT
/*
 * Proves the merge of several sources' lists of queues: which source takes precedence, which queues
 * are the same, that no unknown value becomes 0, also in JSON and back, and which faults of a queue
 * are reported.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <unistd.h>

#include <cmocka.h>

#include "cli/inspect/sources.h"
#include "kfd/exception.h"

#define GPU 19729u

static struct observe_queue *add(struct observe_list *list, uint32_t id, enum observe_source source)
{
	struct observe_queue *queue = observe_list_add(list);

	assert_non_null(queue);
	queue->id = id;
	queue->gpu_id = GPU;
	queue->source_mask = OBSERVE_BIT(source);
	return queue;
}

static struct observe_queue *add_ring(struct observe_list *list, uint32_t id,
				      enum observe_source source, uint64_t ring, uint64_t bytes)
{
	struct observe_queue *queue = add(list, id, source);

	observe_set(queue, OBSERVE_TYPE, OBSERVE_COMPUTE, source);
	observe_set(queue, OBSERVE_RING_BYTES, bytes, source);
	if (ring)
		observe_set(queue, OBSERVE_RING_ADDRESS, ring, source);
	return queue;
}

static void the_stronger_source_is_believed(void **state)
{
	struct observe_list list = {0};
	struct observe_queue *queue = add(&list, 0, OBSERVE_SYSFS);

	(void)state;
	observe_set(queue, OBSERVE_RING_BYTES, 1, OBSERVE_SYSFS);
	observe_set(queue, OBSERVE_RING_BYTES, 2, OBSERVE_MQD);
	assert_int_equal(queue->field[OBSERVE_RING_BYTES].value, 1);
	observe_set(queue, OBSERVE_RING_BYTES, 3, OBSERVE_DAEMON);
	assert_int_equal(queue->field[OBSERVE_RING_BYTES].value, 3);
	assert_int_equal(queue->field[OBSERVE_RING_BYTES].source, OBSERVE_DAEMON);
	/* But "compute" is less exact than "aql". */
	observe_set(queue, OBSERVE_TYPE, OBSERVE_COMPUTE, OBSERVE_SYSFS);
	observe_set(queue, OBSERVE_TYPE, OBSERVE_AQL, OBSERVE_MQD);
	assert_int_equal(queue->field[OBSERVE_TYPE].value, OBSERVE_AQL);
	assert_int_equal(queue->field[OBSERVE_TYPE].source, OBSERVE_MQD);
	observe_list_free(&list);
}

static void ids_join(void **state)
{
	struct observe_list into = {0}, from = {0};
	size_t unmatched;

	(void)state;
	add(&into, 0, OBSERVE_SYSFS);
	add(&from, 0, OBSERVE_SHM);
	add(&from, 1, OBSERVE_SHM);
	add(&from, 1, OBSERVE_SHM)->context = 1;
	observe_merge(&into, &from, &unmatched);
	assert_int_equal(into.count, 3);
	assert_int_equal(unmatched, 0);
	assert_int_equal(into.queue[0].source_mask,
			 OBSERVE_BIT(OBSERVE_SYSFS) | OBSERVE_BIT(OBSERVE_SHM));
	assert_non_null(observe_list_find(&into, 1, 1));
	observe_list_free(&into);
	observe_list_free(&from);
}

static void a_ring_joins_what_has_no_id(void **state)
{
	struct observe_list into = {0}, from = {0};
	size_t unmatched;

	(void)state;
	add_ring(&into, 0, OBSERVE_SHM, 0x1000, 65536);
	add_ring(&into, 1, OBSERVE_SHM, 0x9000, 65536);
	observe_set(add_ring(&from, OBSERVE_NO_ID, OBSERVE_MQD, 0x9000, 65536), OBSERVE_MQDS, 4,
		    OBSERVE_MQD);
	add_ring(&from, OBSERVE_NO_ID, OBSERVE_MQD, 0x5000, 65536);
	observe_merge(&into, &from, &unmatched);
	assert_int_equal(into.count, 2);
	assert_int_equal(unmatched, 1);
	assert_false(observe_known(&into.queue[0], OBSERVE_MQDS));
	assert_int_equal(into.queue[1].field[OBSERVE_MQDS].value, 4);
	observe_list_free(&into);
	observe_list_free(&from);
}

static void another_doorbell_is_another_queue(void **state)
{
	struct observe_list into = {0}, from = {0};
	size_t unmatched;

	(void)state;
	observe_set(add_ring(&into, OBSERVE_NO_ID, OBSERVE_MQD, 0x1000, 65536), OBSERVE_DOORBELL, 8,
		    OBSERVE_MQD);
	/* The same ring address in another process. */
	observe_set(add_ring(&from, OBSERVE_NO_ID, OBSERVE_HQD, 0x1000, 65536), OBSERVE_DOORBELL,
		    16, OBSERVE_HQD);
	observe_merge(&into, &from, &unmatched);
	assert_int_equal(unmatched, 1);
	observe_list_free(&into);
	observe_list_free(&from);
}

static void add_described(struct observe_list *list, uint64_t ring, uint64_t bytes, uint64_t hqds)
{
	struct observe_queue *queue = add_ring(list, OBSERVE_NO_ID, OBSERVE_MQD, ring, bytes);

	observe_set(queue, OBSERVE_MQDS, 4, OBSERVE_MQD);
	observe_set(queue, OBSERVE_HQDS, hqds, OBSERVE_HQD);
}

/* sysfs has ids, debugfs has rings. With one queue of a kind the match is certain; of several, each
 * gets only the values that all of them share. */
static void alike_are_found_by_kind(void **state)
{
	struct observe_list into = {0}, from = {0};
	size_t unmatched;

	(void)state;
	add_ring(&into, 0, OBSERVE_SYSFS, 0, 65536);
	add_ring(&into, 1, OBSERVE_SYSFS, 0, 1048576);
	add_ring(&into, 2, OBSERVE_SYSFS, 0, 1048576);
	add_ring(&into, 3, OBSERVE_SYSFS, 0, 4096);
	add_described(&from, 0x1000, 65536, 4);
	add_described(&from, 0x2000, 1048576, 4);
	add_described(&from, 0x3000, 1048576, 0);
	/* More of these than there are queues. */
	add_described(&from, 0x4000, 4096, 4);
	add_described(&from, 0x5000, 4096, 4);
	observe_merge(&into, &from, &unmatched);
	assert_int_equal(unmatched, 2);
	assert_int_equal(into.count, 4);
	assert_int_equal(into.queue[0].field[OBSERVE_RING_ADDRESS].value, 0x1000);
	for (int i = 1; i < 3; i++) {
		assert_false(observe_known(&into.queue[i], OBSERVE_RING_ADDRESS));
		assert_false(observe_known(&into.queue[i], OBSERVE_HQDS));
		assert_int_equal(into.queue[i].field[OBSERVE_MQDS].value, 4);
		assert_int_equal(into.queue[i].field[OBSERVE_MQDS].source, OBSERVE_MQD);
	}
	assert_false(observe_known(&into.queue[3], OBSERVE_MQDS));
	observe_list_free(&into);
	observe_list_free(&from);
}

/* A slot that may belong to any process is not matched with the only queue of its kind. */
static void a_stranger_joins_no_process(void **state)
{
	struct observe_list into = {0}, from = {0};

	(void)state;
	add_ring(&into, 0, OBSERVE_SYSFS, 0, 65536);
	add_ring(&into, 1, OBSERVE_SHM, 0x3000, 4096);
	assert_false(
		observe_join(&into, add_ring(&from, OBSERVE_NO_ID, OBSERVE_HQD, 0x1000, 65536)));
	assert_false(observe_known(&into.queue[0], OBSERVE_RING_ADDRESS));
	assert_true(observe_join(&into, add_ring(&from, OBSERVE_NO_ID, OBSERVE_HQD, 0x3000, 4096)));
	observe_list_free(&into);
	observe_list_free(&from);
}

static void sorted_by_id(void **state)
{
	struct observe_list list = {0};

	(void)state;
	observe_list_sort(&list);
	add(&list, OBSERVE_NO_ID, OBSERVE_MQD);
	add(&list, 7, OBSERVE_SHM);
	add(&list, 3, OBSERVE_SHM);
	observe_list_sort(&list);
	assert_int_equal(list.queue[0].id, 3);
	assert_int_equal(list.queue[1].id, 7);
	assert_int_equal(list.queue[2].id, OBSERVE_NO_ID);
	observe_list_free(&list);
}

static void json_and_back(void **state)
{
	struct observe_list list = {0};
	struct observe_queue *queue = add_ring(&list, 5, OBSERVE_SHM, 0xffff8000deadb000u, 65536),
			     back;
	json_t *json;

	(void)state;
	observe_set(queue, OBSERVE_SUSPENDED, 0, OBSERVE_DAEMON);
	json = observe_json(queue);
	assert_non_null(json);
	assert_true(json_is_null(json_object_get(json, "wptr")));
	assert_true(json_is_false(json_object_get(json, "suspended")));
	assert_string_equal(json_string_value(json_object_get(json, "ring_address")),
			    "0xffff8000deadb000");
	assert_int_equal(json_object_size(json_object_get(json, "sources")), 4);
	assert_int_equal(observe_from_json(json, &back), 0);
	for (unsigned f = 0; f < OBSERVE_FIELDS; f++) {
		assert_int_equal(back.field[f].source, queue->field[f].source);
		if (observe_known(queue, f))
			assert_int_equal(back.field[f].value, queue->field[f].value);
	}
	assert_int_equal(back.id, 5);
	/* A recording from before 0.1.0 calls the shared memory "lane". */
	json_object_set_new(json_object_get(json, "sources"), "ring_bytes", json_string("lane"));
	assert_int_equal(observe_from_json(json, &back), 0);
	assert_int_equal(back.field[OBSERVE_RING_BYTES].source, OBSERVE_SHM);
	json_decref(json);
	observe_list_free(&list);
}

static void faults_by_name(void **state)
{
	const uint64_t two = exception_mask("wave_trap") | exception_mask("preemption_error");
	struct observe_list list = {0};
	struct observe_queue *queue = add(&list, 5, OBSERVE_SYSFS), back;
	char text[OBSERVE_TEXT];
	json_t *json;

	(void)state;
	assert_string_equal(observe_text(text, queue, OBSERVE_EXCEPTIONS), "-");
	observe_set(queue, OBSERVE_EXCEPTIONS, 0, OBSERVE_MEMORY);
	assert_string_equal(observe_text(text, queue, OBSERVE_EXCEPTIONS), "none");
	/* A session that has seen a fault is believed before the memory of the process. */
	observe_set(queue, OBSERVE_EXCEPTIONS, two, OBSERVE_DAEMON);
	assert_string_equal(observe_text(text, queue, OBSERVE_EXCEPTIONS), "wave_trap +1");
	json = observe_json(queue);
	assert_int_equal(json_array_size(json_object_get(json, "exceptions")), 2);
	json_array_append_new(json_object_get(json, "exceptions"), json_string("of_later"));
	assert_int_equal(observe_from_json(json, &back), 0);
	assert_int_equal(back.field[OBSERVE_EXCEPTIONS].value, two);
	json_decref(json);
	observe_list_free(&list);
}

/* Every code of a queue but "new" has a name, and no other code has one. */
static void names_of_faults(void **state)
{
	(void)state;
	for (unsigned code = 0; code < 64; code++) {
		const char *name = exception_name(code);
		bool fault = code > 0 && EXCEPTION_FAULTS & kfdabi_ec_mask(code);

		assert_int_equal(name != NULL, fault);
		if (name)
			assert_int_equal(exception_mask(name), kfdabi_ec_mask(code));
	}
	assert_int_equal(exception_mask("new"), 0);
}

/* The driver reports faults to the runtime by the address in the header of the save area. */
static void faults_in_memory(void **state)
{
	static uint64_t header[8], payload;
	struct observe_list list = {0};
	struct observe_queue *queue = add(&list, 0, OBSERVE_SHM);
	const struct observe_value *found;
	char why[OBSERVE_WHY];

	(void)state;
	observe_set(queue, OBSERVE_TYPE, OBSERVE_AQL, OBSERVE_SHM);
	observe_set(queue, OBSERVE_CWSR_ADDRESS, (uintptr_t)header, OBSERVE_SHM);
	found = &queue->field[OBSERVE_EXCEPTIONS];
	assert_int_equal(source_memory(getpid(), &list, why), 0);
	assert_int_equal(found->source, OBSERVE_NO_SOURCE); /* the runtime has named no address */
	header[3] = (uintptr_t)&payload;
	payload = UINT64_MAX; /* no mask of exceptions */
	assert_int_equal(source_memory(getpid(), &list, why), 0);
	assert_int_equal(found->source, OBSERVE_NO_SOURCE);
	payload = 0;
	assert_int_equal(source_memory(getpid(), &list, why), 0);
	assert_int_equal(found->source, OBSERVE_MEMORY);
	assert_int_equal(found->value, 0);
	queue->field[OBSERVE_EXCEPTIONS] = (struct observe_value){0};
	payload = exception_mask("packet_unsupported") | kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW);
	assert_int_equal(source_memory(getpid(), &list, why), 0);
	assert_int_equal(found->value, exception_mask("packet_unsupported"));
	observe_list_free(&list);
}

static void what_is_no_queue_is_refused(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"[]",
		"{\"id\": -1, \"context\": 0, \"gpu_id\": 1, \"sources\": {}}",
		"{\"id\": 0, \"context\": 0, \"gpu_id\": 1}",
		"{\"id\": 0, \"context\": 0, \"gpu_id\": 4294967296, \"sources\": {}}",
		"{\"id\": 0, \"context\": 0, \"gpu_id\": 1, \"wptr\": 7, \"sources\": {}}",
		"{\"id\": 0, \"context\": 0, \"gpu_id\": 1, \"type\": \"x\", \"sources\": "
		"{\"type\": \"shm\"}}",
		"{\"id\": 0, \"context\": 0, \"gpu_id\": 1, \"ring_address\": \"12\", \"sources\": "
		"{\"ring_address\": \"shm\"}}",
		"{\"id\": 0, \"context\": 0, \"gpu_id\": 1, \"active\": 1, \"sources\": "
		"{\"active\": \"shm\"}}",
		"{\"id\": 0, \"context\": 0, \"gpu_id\": 1, \"exceptions\": [7], \"sources\": "
		"{\"exceptions\": \"memory\"}}",
	};
	struct observe_queue queue;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		json_t *json = json_loads(wrong[i], 0, NULL);

		assert_non_null(json);
		assert_int_not_equal(observe_from_json(json, &queue), 0);
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stronger_source_is_believed),
		cmocka_unit_test(ids_join),
		cmocka_unit_test(a_ring_joins_what_has_no_id),
		cmocka_unit_test(another_doorbell_is_another_queue),
		cmocka_unit_test(alike_are_found_by_kind),
		cmocka_unit_test(a_stranger_joins_no_process),
		cmocka_unit_test(sorted_by_id),
		cmocka_unit_test(json_and_back),
		cmocka_unit_test(faults_by_name),
		cmocka_unit_test(names_of_faults),
		cmocka_unit_test(faults_in_memory),
		cmocka_unit_test(what_is_no_queue_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
