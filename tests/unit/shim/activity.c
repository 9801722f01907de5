// SPDX-License-Identifier: MIT
/* Proves: a queue and its node count as active from the first sign of work until the end of the
 * work is shown (by a wait, by the sampler, or by the end of the queue). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "shim/activity.h"
#include "shim/queue_table.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL
#define SDMA KFD_IOC_QUEUE_TYPE_SDMA
#define MS 1000u

static struct fake_daemon daemon_;

static void begin(struct fake_queue *q)
{
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_queue_create(q, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
}

static bool ring(struct fake_queue *q, struct fake_signal *completion)
{
	bool called = fake_ring(q, completion);

	fake_settle();
	return called;
}

static bool node_is_active(uint32_t gpu_id)
{
	fake_settle();
	return fake_daemon_active(&daemon_, gpu_id) == 1;
}

static bool active(void)
{
	return node_is_active(FAKE_GPU);
}

static bool queue_active(const struct fake_queue *q)
{
	struct client_shm_queue entry;

	fake_settle();
	CHECK(fake_daemon_queue(&daemon_, q->id, &entry) == 0);
	return entry.state == CLIENT_SHM_QUEUE_ACTIVE;
}

/* The queue is marked active before the store is forwarded to the runtime, and a second doorbell
 * makes no call. */
static void doorbell_marks_at_once(void)
{
	struct client_shm_queue entry;
	struct fake_queue q;

	begin(&q);
	daemon_.daemon_shm->asleep = 1;
	fake_daemon_wakes(&daemon_);
	CHECK(!active());
	CHECK(ring(&q, NULL));
	CHECK(active() && queue_active(&q));
	CHECK(fake_daemon_wakes(&daemon_) > 0);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0 && entry.hooked == 1);
	for (int i = 0; i < 1000; i++) {
		CHECK(!ring(&q, NULL));
		fake_drain_but_last(&q);
	}
	CHECK(active());
	CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) == 1);
}

static void no_wake_if_the_daemon_is_awake(void)
{
	struct fake_queue q;

	begin(&q);
	fake_daemon_wakes(&daemon_);
	ring(&q, NULL);
	CHECK(active());
	CHECK(fake_daemon_wakes(&daemon_) == 0);
}

static void wait_on_the_last_packet_ends_it(void)
{
	struct fake_signal first = {.kind = 1}, last = {.kind = 1};
	struct fake_queue q;
	uint64_t transitions;

	begin(&q);
	ring(&q, &first);
	ring(&q, &last);
	fake_waited(&first); /* not the signal of the last packet */
	CHECK(active());
	/* The read pointer may lag behind the end that the wait has shown. (If it lags for long,
	 * the queue is active again; therefore the test checks the transitions.) */
	transitions = fake_daemon_transitions(&daemon_, FAKE_GPU);
	fake_waited(&last);
	fake_settle();
	CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) > transitions);
	fake_drain(&q);
	EVENTUALLY(!active() && !queue_active(&q), 1000);
	/* the doorbell is not in the table of active doorbells (fake.hot) any more */
	CHECK(ring(&q, &first));
	CHECK(active());
}

static void wait_without_its_condition_ends_nothing(void)
{
	struct fake_signal last = {.kind = 1};
	uint64_t handle = (uint64_t)(uintptr_t)&last;
	struct fake_queue q;

	begin(&q);
	ring(&q, &last);
	fake.agent->wait_end(fake.agent->wait_begin(handle), handle, false);
	CHECK(active());
}

/* A packet is submitted whose doorbell has not been rung yet. The write pointer shows it. */
static void newer_submission_keeps_it_active(void)
{
	struct fake_signal last = {.kind = 1};
	struct fake_queue q;

	begin(&q);
	ring(&q, &last);
	fake_submit(&q, NULL);
	fake_waited(&last);
	CHECK(active());
}

static void node_is_idle_when_its_last_queue_is(void)
{
	struct fake_signal a = {.kind = 1}, b = {.kind = 1};
	struct fake_queue q, other;

	begin(&q);
	CHECK(fake_queue_create(&other, AQL) == 0);
	ring(&q, &a);
	ring(&other, &b);
	fake_drain(&q);
	fake_waited(&a);
	CHECK(active() && !queue_active(&q) && queue_active(&other));
	fake_drain(&other); /* not earlier, because a drained queue counts as running for 100 ms */
	fake_waited(&b);
	CHECK(!active());
}

static void nodes_are_apart(void)
{
	struct fake_queue q, other;

	begin(&q);
	fake.other_gpu = 777;
	CHECK(fake_queue_create(&other, AQL) == 0);
	ring(&other, NULL);
	CHECK(!active());
	CHECK(node_is_active(777));
}

/* No hook sees direct doorbells, nor those of Python's ctypes. */
static void sampler_sees_the_write_pointer(void)
{
	struct fake_queue q;

	begin(&q);
	fake_submit(&q, NULL);
	EVENTUALLY(active(), 1000);
	fake_sleep_us(20 * MS);
	CHECK(active()); /* the queue is not drained */
	fake_drain(&q);
	EVENTUALLY(!active(), 1000);
}

static void drained_burst_counts_as_seen(void)
{
	uint64_t before;
	struct fake_queue q;

	begin(&q);
	for (int i = 0; i < 5; i++) {
		before = fake_daemon_transitions(&daemon_, FAKE_GPU);
		fake_submit(&q, NULL);
		fake_drain(&q);
		EVENTUALLY(fake_daemon_transitions(&daemon_, FAKE_GPU) == before + 2, 1000);
	}
}

/* An SDMA burst between two polls of the sampler is certainly over. When a wait returns, the burst
 * is accounted for, without any later activity. */
static void copies_end_with_the_wait(void)
{
	struct fake_signal last = {.kind = 1};
	struct fake_queue q, sdma;
	uint64_t transitions;

	begin(&q);
	CHECK(fake_queue_create(&sdma, SDMA) == 0);
	fake_sleep_us(5 * MS);
	fake_submit(&sdma, NULL);
	ring(&q, &last);
	EVENTUALLY(queue_active(&sdma), 1000);
	fake_drain(&sdma);
	fake_drain(&q);
	fake_waited(&last);
	CHECK(!active());
	transitions = fake_daemon_transitions(&daemon_, FAKE_GPU);
	fake_sleep_us(20 * MS);
	CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) == transitions);
}

/* The runtime has queued a copy: the queue is active at once, although no doorbell was seen. */
static void copies_are_seen_at_once(void)
{
	struct fake_queue q, sdma;
	uint64_t transitions;

	begin(&q);
	CHECK(fake_queue_create(&sdma, SDMA) == 0);
	fake_sleep_us(100 * MS);
	fake_submit(&sdma, NULL);
	fake.agent->copied(0);
	CHECK(queue_active(&sdma) && active());
	fake_drain(&sdma);
	EVENTUALLY(!active(), 1000);
	transitions = fake_daemon_transitions(&daemon_, FAKE_GPU);
	fake_submit(&sdma, NULL);
	fake_drain(&sdma);
	fake.agent->copied(0); /* the copy has ended already */
	/* The hook reports it at once, or the thread has seen it between submission and end. */
	EVENTUALLY(fake_daemon_transitions(&daemon_, FAKE_GPU) == transitions + 2, 1000);
	fake.agent->copied(0);
	fake_settle();
	CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) == transitions + 2);
}

/* After a kernel of 40 ms, a pause of 30 ms must not count as its end. */
static void longest_kernel_is_learned(void)
{
	struct fake_queue q;
	uint64_t t;

	begin(&q);
	fake_submit(&q, NULL);
	EVENTUALLY(active(), 1000);
	fake_sleep_us(40 * MS);
	t = clock_ns(); /* the sampler finds the end later than this, even if this thread is late */
	fake_drain(&q);
	EVENTUALLY(!active(), 1000);
	/* 1.5 times about 40 ms; without learning it would be 2 ms */
	CHECK(clock_ns() - t > 30000000u);
}

/* Time during which the queue is suspended does not count as the length of a kernel. Time after the
 * suspension, when this thread is late to drain the queue, may count. */
static void suspension_is_not_a_long_kernel(void)
{
	struct fake_queue q;

	begin(&q);
	fake_submit(&q, NULL);
	EVENTUALLY(active(), 1000);
	daemon_.shm->suspended = 1;
	fake_sleep_us(1200 * MS);
	CHECK(active());
	daemon_.shm->suspended = 0;
	fake_drain(&q);
	EVENTUALLY(!active(), 3000);
	agent_lock();
	/* no more than 100 ms are ever learned */
	CHECK(shim_queue_by_id(0, q.id)->longest_ns < 50000000u);
	agent_unlock();
}

/* On some parts the read pointer passes a packet when the packet is taken up: the pointers are
 * equal while the kernel runs, and a thread waits for it. */
static void equal_pointers_are_not_idle(void)
{
	struct fake_signal last = {.kind = 1}, unrelated = {.kind = 1};
	uint64_t handle = (uint64_t)(uintptr_t)&last;
	struct fake_queue q;
	uint32_t ticket;

	begin(&q);
	ring(&q, &last);
	ticket = fake.agent->wait_begin(handle);
	fake_drain(&q);
	fake_sleep_us(150 * MS); /* without a wait the queue would count as running for 100 ms */
	last.value = 0;
	CHECK(active());
	fake.agent->wait_end(ticket, handle, true);
	CHECK(!active());
	fake_waited(&unrelated);
	CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) == 2);
}

static void destroyed_queue_is_no_work(void)
{
	struct fake_queue q;

	begin(&q);
	ring(&q, NULL);
	EVENTUALLY(active(), 1000);
	CHECK(fake_queue_destroy(&q) == 0);
	CHECK(!active());
}

static void foreign_doorbells_are_nothing(void)
{
	struct fake_signal strange = {.kind = -1, .queue_ptr = 0x1234};
	struct fake_queue q;

	begin(&q);
	fake.agent->doorbell((uint64_t)(uintptr_t)&strange);
	CHECK(!active());
}

/* Two doorbells have the same slot in the table of active doorbells. */
static void doorbell_cache_collision(void)
{
	struct fake_queue q, other;
	struct fake_signal *signals;

	begin(&q);
	CHECK(fake_queue_create(&other, AQL) == 0);
	signals = aligned_alloc(64, (KFDSHIM_ACTIVE_DOORBELLS + 1) * sizeof(*signals));
	CHECK(signals != NULL);
	q.doorbell = &signals[0];
	other.doorbell = &signals[KFDSHIM_ACTIVE_DOORBELLS];
	*q.doorbell = (struct fake_signal){.kind = -1, .queue_ptr = q.hsa_queue};
	*other.doorbell = (struct fake_signal){.kind = -1, .queue_ptr = other.hsa_queue};
	ring(&q, NULL);
	ring(&other, NULL);
	ring(&q, NULL);
	CHECK(queue_active(&q) && queue_active(&other));
	fake_drain(&q);
	fake_drain(&other);
	EVENTUALLY(!active(), 1000);
	CHECK(ring(&q, NULL) && queue_active(&q));
	CHECK(ring(&other, NULL) && queue_active(&other));
}

IN_CHILD(doorbell_marks_at_once)
IN_CHILD(no_wake_if_the_daemon_is_awake)
IN_CHILD(wait_on_the_last_packet_ends_it)
IN_CHILD(wait_without_its_condition_ends_nothing)
IN_CHILD(newer_submission_keeps_it_active)
IN_CHILD(node_is_idle_when_its_last_queue_is)
IN_CHILD(nodes_are_apart)
IN_CHILD(sampler_sees_the_write_pointer)
IN_CHILD(drained_burst_counts_as_seen)
IN_CHILD(copies_end_with_the_wait)
IN_CHILD(copies_are_seen_at_once)
IN_CHILD(longest_kernel_is_learned)
IN_CHILD(suspension_is_not_a_long_kernel)
IN_CHILD(equal_pointers_are_not_idle)
IN_CHILD(destroyed_queue_is_no_work)
IN_CHILD(foreign_doorbells_are_nothing)
IN_CHILD(doorbell_cache_collision)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_doorbell_marks_at_once),
		cmocka_unit_test(test_no_wake_if_the_daemon_is_awake),
		cmocka_unit_test(test_wait_on_the_last_packet_ends_it),
		cmocka_unit_test(test_wait_without_its_condition_ends_nothing),
		cmocka_unit_test(test_newer_submission_keeps_it_active),
		cmocka_unit_test(test_node_is_idle_when_its_last_queue_is),
		cmocka_unit_test(test_nodes_are_apart),
		cmocka_unit_test(test_sampler_sees_the_write_pointer),
		cmocka_unit_test(test_drained_burst_counts_as_seen),
		cmocka_unit_test(test_copies_end_with_the_wait),
		cmocka_unit_test(test_copies_are_seen_at_once),
		cmocka_unit_test(test_longest_kernel_is_learned),
		cmocka_unit_test(test_suspension_is_not_a_long_kernel),
		cmocka_unit_test(test_equal_pointers_are_not_idle),
		cmocka_unit_test(test_destroyed_queue_is_no_work),
		cmocka_unit_test(test_foreign_doorbells_are_nothing),
		cmocka_unit_test(test_doorbell_cache_collision),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
