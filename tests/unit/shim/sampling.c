// SPDX-License-Identifier: MIT
/*
 * Proves when the sampler polls and what it finds. The test calls its polls in virtual time,
 * without the agent's thread, and counts wakes instead of measuring them.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/sampled_queues.h"

/* 0.5 % of a core if a wake costs 40 us, as in a virtual machine */
#define WAKES_A_SECOND 125u

static uint64_t period_after(uint64_t ns)
{
	return ns < 4 * MS ? MS : ns > 64 * MS ? 16 * MS : ns / 4;
}

static void quiet_queues_cost_little(void)
{
	begin();
	poll_queues_once();
	CHECK(due == UINT64_MAX); /* no queues, so no poll */
	for (unsigned i = 0; i < 16; i++)
		queue(i, i & 1 ? SDMA : AQL);
	pass(100 * MS);
	CHECK(pass(10 * SECOND) <= 10 * WAKES_A_SECOND);
}

static void busy_queues_cost_little(void)
{
	uint64_t end;
	unsigned polls = 0;

	begin();
	for (unsigned i = 0; i < 16; i++)
		queue(i, AQL);
	for (end = now + 100 * MS; now < end; pass(500 * US))
		for (unsigned i = 0; i < 16; i++) {
			fake_submit(&made[i], NULL);
			fake_drain(&made[i]);
		}
	CHECK(q[0]->active && q[15]->active);
	for (end = now + 10 * SECOND; now < end; polls += pass(500 * US))
		for (unsigned i = 0; i < 16; i++) {
			fake_submit(&made[i], NULL);
			fake_drain(&made[i]);
		}
	CHECK(q[0]->active && q[15]->active);
	CHECK(polls <= 10 * WAKES_A_SECOND);
}

/* Each queue runs a long kernel. */
static void stalled_queues_cost_little(void)
{
	begin();
	for (unsigned i = 0; i < 16; i++) {
		queue(i, AQL);
		fake_submit(&made[i], NULL);
	}
	pass(100 * MS);
	CHECK(pass(10 * SECOND) <= 10 * WAKES_A_SECOND);
	CHECK(q[0]->active);
}

/* Queues that the hooks have seen and that are drained cause no wakes at all. */
static void covered_queues_cost_nothing(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	for (unsigned i = 0; i < 16; i++) {
		queue(i, AQL);
		fake_ring(&made[i], &last);
		fake_drain(&made[i]);
		fake_waited(&last);
		CHECK(!q[i]->active);
	}
	due = now;
	CHECK(pass(10 * SECOND) == 1 && due == UINT64_MAX);
}

/* Ends the work by a wait. Hooks read the real clock, so the virtual time continues from there. */
static void wait_on(struct fake_signal *last)
{
	fake_waited(last);
	CHECK(!q[0]->active);
	now = due = q[0]->idle_ns;
}

/* Packets without the barrier bit: the program waits for the last one while the first, or the one
 * after it, still runs. */
static void work_behind_a_wait_is_found(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue(0, AQL);
	for (unsigned shifts = 0; shifts < 2; shifts++) {
		fake_ring(&made[0], NULL);
		fake_ring(&made[0], NULL);
		fake_ring(&made[0], &last);
		wait_on(&last);
		if (shifts)
			__atomic_add_fetch(made[0].rptr, 1, __ATOMIC_SEQ_CST);
		CHECK(wait_for(q[0], true) <= 4 * MS);
		pass(SECOND);
		CHECK(q[0]->active && queues.nodes[0].active == 1);
		fake_drain(&made[0]);
		wait_for(q[0], false);
		q[0]->longest_ns = 0;
	}
}

/* The queue stays active, however often a thread loads the final value. Otherwise each load would
 * release the processes that are held for it, until the next poll holds them again. */
static void work_behind_a_load_stays_active(void)
{
	struct fake_signal last = {.kind = 1};
	uint64_t handle = (uint64_t)(uintptr_t)&last;

	begin();
	queue(0, AQL);
	fake_ring(&made[0], NULL);
	fake_ring(&made[0], &last);
	wait_on(&last);
	wait_for(q[0], true);
	for (unsigned i = 0; i < 100; i++) {
		fake.agent->loaded(handle);
		CHECK(q[0]->active);
		pass(MS);
	}
	fake_drain(&made[0]); /* all of it has finished, as the value shows */
	fake.agent->loaded(handle);
	CHECK(!q[0]->active);
	fake_ring(&made[0], &last); /* work that was submitted later is not covered by that value */
	last.value = 0;
	fake.agent->loaded(handle);
	CHECK(!q[0]->active);
}

/* The read pointer lags behind the end that the wait has shown: that is no work, and when the
 * pointer has caught up there are no polls. */
static void lagging_read_pointer_is_no_work(void)
{
	struct fake_signal last = {.kind = 1};
	uint64_t published;

	begin();
	queue(0, AQL);
	for (unsigned i = 0; i < 10; i++) {
		fake_ring(&made[0], NULL);
		fake_ring(&made[0], &last);
		wait_on(&last);
		for (published = now; now < published + 3 * MS / 2; pass(MS / 4))
			CHECK(!q[0]->active);
		fake_drain(&made[0]);
		pass(4 * MS);
		CHECK(!q[0]->active && due == UINT64_MAX);
	}
}

/* Work that no hook sees is noticed after at most a quarter of the quiet time before it, and at
 * most 16 ms. */
static void unseen_work_is_noticed(void)
{
	static const uint64_t quiet[] = {MS, 5 * MS, 17 * MS, 60 * MS, 3 * SECOND};
	uint64_t quiet_ns;

	begin();
	queue(0, SDMA);
	for (unsigned i = 0; i < 5; i++)
		for (unsigned at = 0; at < 20; at++) {
			pass(quiet[i] + at * 531 * US);
			quiet_ns = now - q[0]->changed_ns;
			fake_submit(&made[0], NULL);
			CHECK(wait_for(q[0], true) <= period_after(quiet_ns));
			fake_drain(&made[0]);
			wait_for(q[0], false);
		}
}

/* Waits as the sampler's thread does, which sleeps 10 s at most. */
static uint64_t noticed(const struct shim_queue *which)
{
	if (due == UINT64_MAX)
		due = now + 10 * SECOND;
	return wait_for(which, true);
}

/* A queue is rung by a hook and also past the hooks (a framework that is linked with the runtime,
 * and a script that resolves symbols by handle). Only the first time past the hooks may be found
 * late. If all later work comes by the hooks again, the polls end. */
static void work_past_the_hooks_is_noticed_again(void)
{
	struct fake_signal last = {.kind = 1};
	unsigned bursts = 0;

	begin();
	queue(0, AQL);
	for (unsigned i = 0; i < 20; i++) {
		fake_ring(&made[0], &last);
		fake_drain(&made[0]);
		wait_on(&last);
		pass(3 * SECOND);
		fake_submit(&made[0], NULL);
		CHECK(noticed(q[0]) <= (i ? 16 * MS : 10 * SECOND));
		fake_drain(&made[0]);
		wait_for(q[0], false);
		pass(SECOND);
	}
	do {
		fake_ring(&made[0], &last);
		fake_drain(&made[0]);
		wait_on(&last);
		pass(SECOND);
	} while (due != UINT64_MAX && ++bursts < 100);
	CHECK(due == UINT64_MAX);
}

/* One sampling period to see the last change, then the quiet time: 2 ms, or the period if that is
 * longer. */
static void idle_is_found_in_time(void)
{
	static const uint64_t lasts[] = {MS, 5 * MS, 17 * MS, 60 * MS, SECOND};
	uint64_t start, poll_ns;

	begin();
	queue(0, AQL);
	for (unsigned i = 0; i < 5; i++)
		for (unsigned at = 0; at < 20; at++) {
			fake_submit(&made[0], NULL);
			wait_for(q[0], true);
			for (start = now; now < start + lasts[i] + at * 137 * US; pass(200 * US)) {
				fake_drain(&made[0]);
				fake_submit(&made[0], NULL);
				CHECK(q[0]->active);
			}
			fake_drain(&made[0]);
			poll_ns = period_after(now + 20 * MS - start);
			CHECK(wait_for(q[0], false) <=
			      poll_ns + (poll_ns > 2 * MS ? poll_ns : 2 * MS));
			pass(30 * MS);
			q[0]->longest_ns = 0;
		}
}

/* A kernel of any length is learned: at least its length, and at most one period (a quarter of it)
 * more; for a very long kernel 100 ms. */
static void kernels_are_measured(void)
{
	static const uint64_t lasts[] = {7 * MS, 23 * MS, 90 * MS, 700 * MS};

	begin();
	queue(0, AQL);
	for (unsigned i = 0; i < 4; i++) {
		q[0]->longest_ns = 0;
		fake_submit(&made[0], NULL);
		wait_for(q[0], true);
		pass(lasts[i]);
		CHECK(q[0]->active);
		fake_drain(&made[0]);
		now = due;
		poll_queues_once();
		CHECK(q[0]->longest_ns >= (lasts[i] < 100 * MS ? lasts[i] : 100 * MS));
		CHECK(q[0]->longest_ns <= lasts[i] + period_after(lasts[i]) + MS);
		wait_for(q[0], false);
		pass(50 * MS);
	}
}

/* If the last packet's signal is final, the shortest quiet time is enough, however long this
 * queue's kernels last. This also holds for a queue that no runtime made. */
static void final_value_ends_it(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	for (unsigned i = 0; i < 2; i++) {
		queue_of(i, AQL, i == 0);
		q[i]->longest_ns = SECOND;
		fake_submit(&made[i], &last);
		wait_for(q[i], true);
		last.value = 0;
		fake_drain(&made[i]);
		CHECK(wait_for(q[i], false) <= 3 * MS);
	}
}

/* Polls as the sampler does while the daemon holds other processes. */
static uint64_t held_until_idle(const struct shim_queue *which)
{
	uint64_t start = now;

	while (which->active && now < start + SECOND) {
		now = due > now ? due : now;
		queues.nodes[0].holds_ns = now;
		poll_queues_once();
	}
	return now - start;
}

/* An end that no thread shows is found late at first, and then soon, as long as others are held for
 * this queue. */
static void held_work_is_given_back_soon(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue(0, AQL);
	for (unsigned i = 0; i < 5; i++) {
		fake_submit(&made[0], &last);
		due = now;
		queues.nodes[0].holds_ns = now;
		wait_for(q[0], true);
		pass(MS);
		fake_drain(&made[0]);
		last.value = 0;
		CHECK(held_until_idle(q[0]) <= (i ? 100 * US : 4 * MS));
		pass(20 * MS);
	}
	fake_submit(&made[0], NULL);
	due = now;
	wait_for(q[0], true);
	pass(150 * MS); /* no process is held any more */
	CHECK(due - now >= MS);
}

/* After copies, a quarter of the burst is a sufficient quiet time. */
static void short_bursts_end_soon(void)
{
	uint64_t start;

	begin();
	queue(0, SDMA);
	for (unsigned i = 0; i < 5; i++) {
		fake_submit(&made[0], NULL);
		due = now;
		queues.nodes[0].holds_ns = now;
		wait_for(q[0], true);
		for (start = now; now < start + 2 * MS; pass(40 * US)) {
			queues.nodes[0].holds_ns = now;
			fake_drain(&made[0]);
			fake_submit(&made[0], NULL);
			CHECK(q[0]->active);
		}
		fake_drain(&made[0]);
		CHECK(held_until_idle(q[0]) <= (i ? 600 * US : 4 * MS));
		pass(20 * MS);
	}
}

/* Where the read pointer passes a packet when it is taken up, equal pointers do not show the end. A
 * kernel without a signal keeps its queue active for the shortest quiet time, also while others are
 * held for it. */
static void kernels_outlast_a_short_quiet_time(void)
{
	begin();
	queue(0, AQL);
	queue(1, KFD_IOC_QUEUE_TYPE_COMPUTE);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned kernels = 0; kernels < 4; kernels++) {
			fake_submit(&made[i], NULL);
			fake_drain(&made[i]);
			due = now;
			queues.nodes[0].holds_ns = now;
			wait_for(q[i], true);
			for (uint64_t end = now + 3 * MS / 2; now < end; pass(40 * US)) {
				queues.nodes[0].holds_ns = now;
				CHECK(q[i]->active);
			}
			CHECK(held_until_idle(q[i]) <= MS);
			CHECK(q[i]->found);
		}
}

/* A queue whose ends are shown by threads is not polled more often. */
static void certain_ends_want_no_close_polls(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue(0, AQL);
	q[0]->found = true;
	fake_ring(&made[0], &last);
	fake_drain(&made[0]);
	wait_on(&last);
	CHECK(!q[0]->found);
	fake_ring(&made[0], &last);
	now = due = clock_ns();
	queues.nodes[0].holds_ns = now;
	poll_queues_once();
	CHECK(due - now >= MS);
}

/* The end is not shown by a thread, the pointers are equal and the kernel runs: the packet's signal
 * keeps a raw queue active, too. A queue whose ring cannot be read has no signal. */
static void raw_queue_has_a_signal(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue_of(0, AQL, false);
	fake_submit(&made[0], &last);
	fake_drain(&made[0]);
	wait_for(q[0], true);
	pass(90 * MS);
	CHECK(q[0]->active);
	last.value = 0;
	CHECK(wait_for(q[0], false) <= 20 * MS);

	queue_of(1, AQL, false);
	q[1]->ring = 4096;
	fake_submit(&made[1], &last);
	fake_drain(&made[1]);
	wait_for(q[1], true);
	CHECK(wait_for(q[1], false) <= 4 * MS);
}

/* A signal that is not final keeps the queue active although the pointers are equal: while a thread
 * waits for it until it is final, otherwise for 100 ms. */
static void unfinished_signal_keeps_it(void)
{
	struct fake_signal last = {.kind = 1};
	uint64_t handle = (uint64_t)(uintptr_t)&last;
	uint32_t ticket;

	begin();
	queue(0, AQL);
	fake_submit(&made[0], &last);
	fake_drain(&made[0]);
	wait_for(q[0], true);
	ticket = fake.agent->wait_begin(handle);
	pass(SECOND / 2);
	CHECK(q[0]->active);
	last.value = 0;
	CHECK(wait_for(q[0], false) <= 20 * MS); /* the waiting thread has not returned yet */
	fake.agent->wait_end(ticket, handle, true);
	CHECK(!q[0]->active);

	fake_submit(&made[0], &last);
	fake_drain(&made[0]);
	wait_for(q[0], true);
	pass(90 * MS);
	CHECK(q[0]->active);
	CHECK(wait_for(q[0], false) <= 30 * MS);
}

static void *leave_in_a_wait(void *signal)
{
	fake.agent->wait_begin((uint64_t)(uintptr_t)signal);
	return NULL;
}

/* Threads end inside the runtime's wait, or jump out of it, more often than there are slots for
 * waits. The next wait must still be recorded. */
static void left_waits_do_not_use_places_up(void)
{
	static char stack[1 << 21] __attribute__((aligned(4096))); /* size that sanitizers need */
	struct fake_signal last = {.kind = 1}, left = {.kind = 1};
	uint64_t handle = (uint64_t)(uintptr_t)&last;
	pthread_attr_t attr;
	pthread_t thread;
	uint32_t ticket;

	begin();
	queue(0, AQL);
	fake_submit(&made[0], &last);
	wait_for(q[0], true);
	pthread_attr_init(&attr);
	CHECK(pthread_attr_setstack(&attr, stack, sizeof(stack)) == 0);
	for (int i = 0; i < 50; i++) {
		leave_in_a_wait(&left);
		CHECK(pthread_create(&thread, &attr, leave_in_a_wait, &left) == 0);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	pthread_attr_destroy(&attr);
	fake_drain(&made[0]);
	ticket = fake.agent->wait_begin(handle);
	pass(SECOND / 2);
	CHECK(q[0]->active);
	last.value = 0;
	fake.agent->wait_end(ticket, handle, true);
	CHECK(!q[0]->active);
}

/* The slot is reserved but not filled: the old packet's signal proves nothing. */
static void old_signal_is_no_completion(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue(0, AQL);
	fake_ring(&made[0], &last);
	fake_drain(&made[0]);
	fake_waited(&last);
	CHECK(!q[0]->active);
	fake.agent->doorbell((uint64_t)(uintptr_t)made[0].doorbell);
	CHECK(q[0]->active);
	now = clock_ns();
	poll_queues_once();
	CHECK(q[0]->active);
	CHECK(wait_for(q[0], false) <= 4 * MS);
}

IN_CHILD(quiet_queues_cost_little)
IN_CHILD(busy_queues_cost_little)
IN_CHILD(stalled_queues_cost_little)
IN_CHILD(covered_queues_cost_nothing)
IN_CHILD(work_behind_a_wait_is_found)
IN_CHILD(work_behind_a_load_stays_active)
IN_CHILD(lagging_read_pointer_is_no_work)
IN_CHILD(unseen_work_is_noticed)
IN_CHILD(work_past_the_hooks_is_noticed_again)
IN_CHILD(idle_is_found_in_time)
IN_CHILD(kernels_are_measured)
IN_CHILD(final_value_ends_it)
IN_CHILD(held_work_is_given_back_soon)
IN_CHILD(short_bursts_end_soon)
IN_CHILD(kernels_outlast_a_short_quiet_time)
IN_CHILD(certain_ends_want_no_close_polls)
IN_CHILD(raw_queue_has_a_signal)
IN_CHILD(unfinished_signal_keeps_it)
IN_CHILD(left_waits_do_not_use_places_up)
IN_CHILD(old_signal_is_no_completion)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quiet_queues_cost_little),
		cmocka_unit_test(test_busy_queues_cost_little),
		cmocka_unit_test(test_stalled_queues_cost_little),
		cmocka_unit_test(test_covered_queues_cost_nothing),
		cmocka_unit_test(test_work_behind_a_wait_is_found),
		cmocka_unit_test(test_work_behind_a_load_stays_active),
		cmocka_unit_test(test_lagging_read_pointer_is_no_work),
		cmocka_unit_test(test_unseen_work_is_noticed),
		cmocka_unit_test(test_work_past_the_hooks_is_noticed_again),
		cmocka_unit_test(test_idle_is_found_in_time),
		cmocka_unit_test(test_kernels_are_measured),
		cmocka_unit_test(test_final_value_ends_it),
		cmocka_unit_test(test_held_work_is_given_back_soon),
		cmocka_unit_test(test_short_bursts_end_soon),
		cmocka_unit_test(test_kernels_outlast_a_short_quiet_time),
		cmocka_unit_test(test_certain_ends_want_no_close_polls),
		cmocka_unit_test(test_raw_queue_has_a_signal),
		cmocka_unit_test(test_unfinished_signal_keeps_it),
		cmocka_unit_test(test_left_waits_do_not_use_places_up),
		cmocka_unit_test(test_old_signal_is_no_completion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
