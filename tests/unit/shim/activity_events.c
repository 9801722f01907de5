// SPDX-License-Identifier: MIT
/*
 * Proves which events activity.c reports, and in which order, when queues come, work and go. It is
 * linked without the modules above it: no driver, no daemon, no thread of the agent.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/agent_abi.h"
#include "shim/activity.h"

#define GPU 11u
#define RING_BYTES 4096u

static uint64_t doorbells[KFDSHIM_ACTIVE_DOORBELLS];
static uint32_t n_active, n_intercept;
static int64_t requests;
static uint64_t pointers[4][2];			    /* of a queue, by its id: read, write */
static uint64_t rings[4][RING_BYTES / 8];	    /* likewise */
static _Alignas(64) uint64_t hsa_queues[4][64 / 8]; /* likewise; only their addresses are used */
static _Alignas(64) uint64_t signal_of[4][64 / 8];  /* likewise: doorbell signals */

/* What was reported since the last call of reported(), in words. */
static char text[512];

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t length = strlen(text);
	va_list list;

	va_start(list, format);
	vsnprintf(text + length, sizeof(text) - length, format, list);
	va_end(list);
}

static void node(uint32_t index, bool active, uint64_t now_ns)
{
	(void)now_ns;
	note(" node%u=%d", index, active);
}

static void queue(const struct shim_queue *q)
{
	note(" queue%u=%d", q->id, q->active);
}

static void queue_gone(const struct shim_queue *q)
{
	note(" gone%u", q->id);
}

static void event(enum client_shm_event_kind kind, const struct shim_queue *q, uint64_t value)
{
	(void)value;
	note(" %s%u", client_shm_event_name(kind), q->id);
}

static const struct activity_events events = {node, queue, queue_gone, event};

static void assert_reported(const char *expected)
{
	assert_string_equal(text, expected);
	text[0] = '\0';
}

static int begin(void **state)
{
	(void)state;
	queues.active = &n_active;
	queues.n_intercept_queues = &n_intercept;
	queues_forget();
	memset(pointers, 0, sizeof(pointers));
	requests = 0;
	readers_init();
	activity_init(&events, doorbells, &requests);
	text[0] = '\0';
	return 0;
}

static int finish(void **state)
{
	struct shim_queue *q;

	(void)state;
	for (uint32_t id = 1; id < 4; id++)
		if ((q = entry_take(0, id)))
			shim_queue_free(q);
	return 0;
}

/* Adds a queue of the runtime with @packets in its ring. */
static struct shim_queue *added(uint32_t id, uint64_t packets)
{
	struct shim_queue *q = calloc(1, sizeof(*q));

	assert_non_null(q);
	pointers[id][1] = packets;
	signal_of[id][KFDSHIM_SIGNAL_QUEUE_PTR / 8] = (uint64_t)(uintptr_t)hsa_queues[id];
	q->id = id;
	q->gpu_id = GPU;
	q->type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
	q->ring = (uint64_t)(uintptr_t)rings[id];
	q->ring_bytes = RING_BYTES;
	q->rptr = &pointers[id][0];
	q->wptr = &pointers[id][1];
	q->hsa_queue = (uint64_t)(uintptr_t)hsa_queues[id];
	q->readable = true;
	entry_add_new(q);
	return q;
}

static void end(struct shim_queue *q)
{
	pointers[q->id][0] = pointers[q->id][1];
	agent_lock();
	activity_try_end(q, pointers[q->id][1], 1);
	agent_unlock();
}

static void ring(uint32_t id)
{
	activity_doorbell((uint64_t)(uintptr_t)signal_of[id]);
}

static void test_new_queue_with_work(void **state)
{
	(void)state;
	added(1, 0);
	assert_reported(" created1 queue1=0 node0=0");
	added(2, 5);
	assert_reported(" created2 queue2=0 node0=0 node0=1 queue2=1 active2");
	assert_int_equal(n_active, 1);
}

static void test_node_is_active_while_one_queue_is(void **state)
{
	struct shim_queue *a, *b;

	(void)state;
	a = added(1, 1);
	b = added(2, 0);
	assert_int_equal(queues.nodes[0].active, 1);
	text[0] = '\0';
	pointers[2][1] = 1;
	ring(2);
	/* The first doorbell also covers the queue, which is published once more. */
	assert_reported(" queue2=1 active2 queue2=1");
	end(a);
	assert_reported(" queue1=0 idle1");
	end(b);
	assert_reported(" node0=0 queue2=0 idle2");
	assert_int_equal(n_active, 0);
}

static void test_doorbell_is_announced_once(void **state)
{
	(void)state;
	added(1, 0);
	text[0] = '\0';
	ring(2); /* its queue is not in the table */
	assert_reported("");
	pointers[1][1] = 1;
	ring(1);
	assert_reported(" node0=1 queue1=1 active1 queue1=1");
	assert_int_equal(doorbells[kfdshim_doorbell_slot((uint64_t)(uintptr_t)signal_of[1])],
			 (uint64_t)(uintptr_t)signal_of[1]);
	ring(1);
	assert_reported("");
}

/* Work that was submitted after the decision keeps the queue active. */
static void test_end_is_refuted_by_new_work(void **state)
{
	struct shim_queue *q;

	(void)state;
	q = added(1, 1);
	text[0] = '\0';
	pointers[1][0] = 1;
	pointers[1][1] = 2;
	agent_lock();
	activity_try_end(q, 1, 1);
	agent_unlock();
	assert_reported("");
	assert_true(q->active);
}

static void test_active_queue_is_taken(void **state)
{
	struct shim_queue *q;

	(void)state;
	q = added(1, 1);
	text[0] = '\0';
	assert_null(entry_take(0, 2));
	assert_ptr_equal(entry_take(0, 1), q);
	assert_reported(" node0=0 gone1 destroyed1");
	assert_int_equal(n_active, 0);
	assert_false(queues_any());
	/* DESTROY_QUEUE has failed: the queue is back, and its memory is not trusted any more. */
	entry_put_back(q, EBUSY);
	assert_true(q->read_via_kernel);
	assert_true(queues_any());
}

static void test_request_makes_all_nodes_active(void **state)
{
	(void)state;
	added(1, 0);
	text[0] = '\0';
	requests = 1;
	agent_lock();
	activity_requests(1);
	activity_requests(1);
	requests = 0;
	activity_requests(1);
	agent_unlock();
	assert_reported(" node0=1 node0=0");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_new_queue_with_work),	       TEST(test_node_is_active_while_one_queue_is),
		TEST(test_doorbell_is_announced_once), TEST(test_end_is_refuted_by_new_work),
		TEST(test_active_queue_is_taken),      TEST(test_request_makes_all_nodes_active),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
