// SPDX-License-Identifier: MIT
/*
 * Proves: a queue has ended when a thread of the program sees the end of the last work: by a wait
 * for another signal, by a load, or by the return of the driver's wait for events. The agent's
 * thread does not run in this test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/clock.h"
#include "shim/activity.h"
#include "shim/sampler.h"
#include "tests/lib/mock_kfd.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL
#define SDMA KFD_IOC_QUEUE_TYPE_SDMA

static struct fake_queue made[2];
static struct shim_queue *q[2];
static bool forbidden; /* true: process_vm_writev is forbidden */

bool __real_memory_read(void *to, uint64_t address, size_t size);
bool __wrap_memory_read(void *to, uint64_t address, size_t size);
bool __wrap_memory_read(void *to, uint64_t address, size_t size)
{
	return !forbidden && __real_memory_read(to, address, size);
}

static void queue(unsigned i, uint32_t type)
{
	struct kfdabi_create_queue args;

	fake_queue_memory(&made[i], type, &args);
	args.queue_id = i;
	q[i] = shim_queue_new(0, &args, sizeof(args));
	CHECK(q[i] != NULL);
	agent_lock();
	CHECK(queue_insert(q[i]) == 0);
	activity_queue_added(q[i], clock_ns());
	agent_unlock();
}

static void begin(struct fake_signal *last)
{
	fake_start();
	queue(0, AQL);
	fake_ring(&made[0], NULL);
	fake_ring(&made[0], last);
	CHECK(q[0]->active && fake.active == 1);
}

static void loaded(const struct fake_signal *signal)
{
	fake.agent->loaded((uint64_t)(uintptr_t)signal);
}

/* The program waits only for the copy of its result. */
static void wait_for_what_came_after_it_ends_it(void)
{
	struct fake_signal last = {.kind = 1}, copy = {.kind = 1};

	begin(&last);
	fake_drain(&made[0]);
	fake_waited(&copy);
	CHECK(q[0]->active); /* the last packet has not finished */
	last.value = 0;
	fake_waited(&copy);
	CHECK(!q[0]->active && fake.active == 0);
}

/* A queue with packets before its last one has not ended, even if the last packet's signal has an
 * old final value. */
static void packets_that_are_left_keep_it(void)
{
	struct fake_signal last = {.kind = 1}, copy = {.kind = 1};

	begin(&last);
	last.value = 0;
	fake_waited(&copy);
	CHECK(q[0]->active);
	fake_drain_but_last(&made[0]); /* the read pointer may lag behind by one packet */
	fake_waited(&copy);
	CHECK(!q[0]->active);
}

static void load_of_the_last_signal_ends_it(void)
{
	struct fake_signal last = {.kind = 1}, other = {.kind = 1};

	begin(&last);
	fake_drain(&made[0]);
	loaded(&last); /* the signal is in use again since the program's thread has seen its end */
	CHECK(q[0]->active);
	last.value = 0;
	loaded(&other);
	CHECK(q[0]->active);
	loaded(&last);
	CHECK(!q[0]->active);
}

/* A sandbox may forbid the system call by which the agent reads signals that could be freed. */
static void own_signal_is_read_in_a_sandbox(void)
{
	struct fake_signal last = {.kind = 1};

	begin(&last);
	fake_drain(&made[0]);
	forbidden = true;
	loaded(&last);
	CHECK(q[0]->active);
	last.value = 0;
	loaded(&last);
	CHECK(!q[0]->active);
	fake_ring(&made[0], &last);
	fake_drain(&made[0]);
	fake_waited(&last);
	CHECK(!q[0]->active);
}

static void load_of_a_newer_submission_ends_nothing(void)
{
	struct fake_signal last = {.kind = 1};

	begin(&last);
	fake_submit(&made[0], NULL);
	last.value = 0;
	loaded(&last);
	CHECK(q[0]->active);
}

/* For the completion signal of a copy, the first load of a final value is an end. Later loads are
 * not. */
static void load_of_a_copy_ends_what_it_waited_for(void)
{
	struct fake_signal last = {.kind = 1}, copy = {.kind = 1};

	begin(&last);
	queue(1, SDMA);
	fake_submit(&made[1], NULL);
	fake.agent->copied((uint64_t)(uintptr_t)&copy);
	CHECK(q[1]->active && fake.active == 2);
	fake_drain(&made[0]);
	fake_drain(&made[1]);
	last.value = 0;
	loaded(&copy);
	CHECK(!q[0]->active && !q[1]->active);
	last.value = 1;
	fake_ring(&made[0], &last);
	fake_drain(&made[0]);
	last.value = 0;
	loaded(&copy);
	CHECK(q[0]->active);
}

static void wait_for_events_ends_it(void)
{
	struct fake_signal last = {.kind = 1};

	begin(&last);
	fake_drain(&made[0]);
	fake.agent->events_end();
	CHECK(q[0]->active);
	last.value = 0;
	fake.agent->events_end();
	CHECK(!q[0]->active);
}

static uint64_t *queue_end_signal(const struct fake_queue *queue)
{
	return (uint64_t *)((char *)queue->memory + 4096 + (*queue->wptr - 1) % FAKE_PACKETS * 64 +
			    56);
}

/* The program frees the signal while another thread's hook is about to read it: the hook ends
 * nothing and does not crash. */
static void signal_that_is_gone_ends_nothing(void)
{
	static const uint64_t nowhere = 64;

	begin((struct fake_signal *)NULL);
	fake_drain(&made[0]);
	fake.agent->loaded(nowhere);
	fake.agent->wait_end(KFDSHIM_NO_TICKET, nowhere, true);
	CHECK(q[0]->active);
	fake_submit(&made[0], NULL);
	*queue_end_signal(&made[0]) = nowhere;
	fake_drain(&made[0]);
	fake.agent->loaded(nowhere);
	CHECK(q[0]->active);
}

/* Uses up all slots of the ring once. The next slot then contains an old packet, whose signal has a
 * final value. */
static void begin_second_lap(struct fake_signal *old)
{
	fake_start();
	queue(0, AQL);
	for (unsigned i = 0; i < FAKE_PACKETS; i++)
		fake_submit(&made[0], old);
	fake_drain(&made[0]);
	old->value = 0;
}

static void reserve(unsigned i)
{
	__atomic_add_fetch(made[i].wptr, 1, __ATOMIC_SEQ_CST);
}

/* Reserves and fills a slot as another thread of the program would. */
static void fill_last(unsigned i, struct fake_signal *completion)
{
	__atomic_sub_fetch(made[i].wptr, 1, __ATOMIC_SEQ_CST);
	fake_submit(&made[i], completion);
}

/* A thread sees an end between another thread's reservation and doorbell, but gets the lock only
 * after the doorbell. */
static void slot_that_is_filled_meanwhile_is_no_end(void)
{
	struct fake_signal old = {.kind = 1}, last = {.kind = 1};
	uint64_t bell;

	begin_second_lap(&old);
	bell = (uint64_t)(uintptr_t)made[0].doorbell;
	fake.agent->doorbell(bell); /* stands for a reservation, the early hint of work */
	CHECK(q[0]->active);
	reserve(0);
	agent_lock();
	fake.agent->events_end();
	fill_last(0, &last);
	/* so the hook of the doorbell returns without a call of the agent */
	CHECK(fake.active_doorbells[kfdshim_doorbell_slot(bell)] == bell);
	agent_unlock();
	CHECK(q[0]->active);
	last.value = 0;
	loaded(&last);
	CHECK(!q[0]->active);
}

/* The doorbell that is rung when the slot is filled is not seen by any hook. */
static void slot_of_an_unhooked_queue_is_no_end(void)
{
	struct fake_signal old = {.kind = 1}, last = {.kind = 1};

	begin_second_lap(&old);
	fake.agent->copied(0);
	CHECK(q[0]->active && !q[0]->hooked);
	reserve(0);
	fake.agent->events_end();
	CHECK(q[0]->active);
	loaded(&old); /* the copy before this one */
	CHECK(q[0]->active);
	fill_last(0, &last);
	fake_drain(&made[0]);
	last.value = 0;
	loaded(&last);
	CHECK(!q[0]->active);
}

/* The doorbell may also be missed if this queue was rung past the hooks lately. */
static void slot_rung_past_the_hooks_is_no_end(void)
{
	struct fake_signal old = {.kind = 1};

	begin_second_lap(&old);
	fake.agent->doorbell((uint64_t)(uintptr_t)made[0].doorbell);
	loaded(&old);
	CHECK(!q[0]->active && queue_is_covered(q[0]));
	fake_submit(&made[0], &old);
	agent_lock();
	poll_queues(clock_ns(), false);
	agent_unlock();
	CHECK(q[0]->active && !queue_is_covered(q[0]));
	fake_drain(&made[0]);
	reserve(0);
	old.value = 0;
	fake.agent->events_end();
	loaded(&old);
	CHECK(q[0]->active);
}

IN_CHILD(wait_for_what_came_after_it_ends_it)
IN_CHILD(packets_that_are_left_keep_it)
IN_CHILD(load_of_the_last_signal_ends_it)
IN_CHILD(own_signal_is_read_in_a_sandbox)
IN_CHILD(load_of_a_newer_submission_ends_nothing)
IN_CHILD(load_of_a_copy_ends_what_it_waited_for)
IN_CHILD(wait_for_events_ends_it)
IN_CHILD(signal_that_is_gone_ends_nothing)
IN_CHILD(slot_that_is_filled_meanwhile_is_no_end)
IN_CHILD(slot_of_an_unhooked_queue_is_no_end)
IN_CHILD(slot_rung_past_the_hooks_is_no_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait_for_what_came_after_it_ends_it),
		cmocka_unit_test(test_packets_that_are_left_keep_it),
		cmocka_unit_test(test_load_of_the_last_signal_ends_it),
		cmocka_unit_test(test_own_signal_is_read_in_a_sandbox),
		cmocka_unit_test(test_load_of_a_newer_submission_ends_nothing),
		cmocka_unit_test(test_load_of_a_copy_ends_what_it_waited_for),
		cmocka_unit_test(test_wait_for_events_ends_it),
		cmocka_unit_test(test_signal_that_is_gone_ends_nothing),
		cmocka_unit_test(test_slot_that_is_filled_meanwhile_is_no_end),
		cmocka_unit_test(test_slot_of_an_unhooked_queue_is_no_end),
		cmocka_unit_test(test_slot_rung_past_the_hooks_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
