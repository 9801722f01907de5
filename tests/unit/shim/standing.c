// SPDX-License-Identifier: MIT
/*
 * Proves, in virtual time (sampled_queues.h), how queues with a read pointer that does not move are
 * treated: at a barrier, and after the runtime has stopped them; and how long their kernels are
 * expected to last after that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/lib/sampled_queues.h"

static uint64_t *head(unsigned i)
{
	return (uint64_t *)((char *)made[i].memory + 4096 + *made[i].rptr % FAKE_PACKETS * 64);
}

static void barrier(unsigned i, uint16_t type, const struct fake_signal *on)
{
	fake_submit(&made[i], NULL);
	head(i)[0] = type;
	head(i)[2] = (uint64_t)(uintptr_t)on;
}

/* The queue waits at a barrier for a signal that another process has to set. */
static void blocked_is_not_active(void)
{
	static const uint16_t types[] = {3, 5};
	struct fake_signal other_holds = {.kind = 1};

	begin();
	queue(0, AQL);
	for (unsigned i = 0; i < 2; i++) {
		other_holds.value = 1;
		barrier(0, types[i], &other_holds);
		wait_for(q[0], true);
		CHECK(!q[0]->blocked && queues.nodes[0].active == 1);
		pass(20 * MS);
		CHECK(q[0]->blocked && queues.nodes[0].active == 0);
		pass(SECOND);
		CHECK(q[0]->blocked);
		CHECK(q[0]->longest_ns == 0); /* the wait was not a kernel */
		other_holds.value = 0;
		pass(16 * MS);
		CHECK(!q[0]->blocked && q[0]->active && queues.nodes[0].active == 1);
		fake_drain(&made[0]);
		wait_for(q[0], false);
		CHECK(queues.nodes[0].active == 0 && *queues.active == 0);
		q[0]->longest_ns = 0;
	}
}

static void blocked_revives_with_progress(void)
{
	struct fake_signal other_holds = {.kind = 1, .value = 1}, last = {.kind = 1};

	begin();
	queue(0, AQL);
	barrier(0, 3, &other_holds);
	fake_submit(&made[0], NULL);
	wait_for(q[0], true);
	pass(20 * MS);
	CHECK(q[0]->blocked);
	/* More packets behind the barrier are no progress. */
	fake_submit(&made[0], &last);
	pass(20 * MS);
	CHECK(q[0]->blocked);
	__atomic_add_fetch(made[0].rptr, 1, __ATOMIC_SEQ_CST);
	pass(16 * MS);
	CHECK(!q[0]->blocked && queues.nodes[0].active == 1);
	/* A wait that shows the end also ends a blocked queue. */
	barrier(0, 3, &other_holds);
	fake_drain(&made[0]);
	__atomic_sub_fetch(made[0].rptr, 1, __ATOMIC_SEQ_CST);
	head(0)[0] = 3;
	head(0)[2] = (uint64_t)(uintptr_t)&other_holds;
	head(0)[7] = (uint64_t)(uintptr_t)&last;
	pass(40 * MS);
	fake.agent->doorbell((uint64_t)(uintptr_t)made[0].doorbell);
	CHECK(q[0]->blocked);
	fake_waited(&last);
	CHECK(!q[0]->blocked && !q[0]->active);
	CHECK(queues.nodes[0].active == 0 && *queues.active == 0);
}

/* Condition of hsa_amd_barrier_value_packet_t: (value & mask) >= compared. */
static void barrier_value_blocks(void)
{
	struct fake_signal other_holds = {.kind = 1, .value = 0x105};

	begin();
	queue(0, AQL);
	fake_submit(&made[0], NULL);
	head(0)[0] = 2u << 16;
	head(0)[1] = (uint64_t)(uintptr_t)&other_holds;
	head(0)[2] = 6;
	head(0)[3] = 0xff;
	head(0)[4] = 3;
	wait_for(q[0], true);
	pass(20 * MS);
	CHECK(q[0]->blocked);
	other_holds.value = 6;
	pass(16 * MS);
	CHECK(!q[0]->blocked);
}

static void these_are_not_blocked(void)
{
	struct fake_signal met = {.kind = 1}, unmet = {.kind = 1, .value = 1};

	begin();
	for (unsigned i = 0; i < 5; i++)
		queue(i, AQL);
	queue(5, KFD_IOC_QUEUE_TYPE_SDMA);
	barrier(0, 3, &met);
	barrier(1, 5, &unmet);
	/* for a barrier-or, one of the two signals is enough */
	head(1)[3] = (uint64_t)(uintptr_t)&met;
	barrier(2, 3, NULL);
	barrier(3, 3, (const struct fake_signal *)64); /* a freed signal */
	barrier(4, 2, &unmet);			       /* a kernel */
	/* the agent must not read the ring of an SDMA queue */
	barrier(5, 3, &unmet);
	pass(SECOND);
	for (unsigned i = 0; i < 6; i++)
		CHECK(q[i]->active && !q[i]->blocked);
	CHECK(queues.nodes[0].active == 6);
}

/* An offline queue is never "blocked": it could start to run beside another process's request at
 * any moment. */
static void offline_is_never_blocked(void)
{
	struct fake_signal other_holds = {.kind = 1, .value = 1};

	setenv("KFDSHIM_PRIORITY", "offline", 1);
	begin();
	queue(0, AQL);
	barrier(0, 3, &other_holds);
	pass(SECOND);
	CHECK(q[0]->active && !q[0]->blocked);
}

/* Makes the UPDATE_QUEUE of a runtime. */
static void update(unsigned i, bool ring, uint32_t percent)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = ring ? q[i]->ring : 0,
		.ring_size = (uint32_t)q[i]->ring_bytes,
		.queue_id = made[i].id,
		.queue_percentage = percent,
		.queue_priority = 7,
	};

	CHECK(fake_ioctl(fake.fd, AMDKFD_IOC_UPDATE_QUEUE, &args) == 0);
	now = due = clock_ns();
}

static bool all_is_idle(void)
{
	return !q[0]->active && queues.nodes[0].active == 0 && *queues.active == 0;
}

/* The runtime has stopped a queue that faulted: its packet never ends and does not count as work.
 * The driver takes a queue with percentage 0 or ring 0 off the GPU. */
static void stopped_by_the_runtime_is_idle(void)
{
	struct fake_signal last = {.kind = 1};

	begin();
	queue(0, AQL);
	for (unsigned ring = 0; ring < 2; ring++) {
		fake_ring(&made[0], &last);
		now = due = clock_ns();
		pass(50 * MS);
		CHECK(q[0]->active);
		update(0, ring, ring ? 0 : 100);
		CHECK(all_is_idle());
		CHECK(pass(10 * SECOND) <= 1 && all_is_idle());
		/* More packets in it do not count as work either. */
		fake_submit(&made[0], &last);
		fake_ring(&made[0], &last);
		poll_queues_once();
		CHECK(pass(10 * SECOND) <= 1 && all_is_idle());
		update(0, true, 100);
		CHECK(q[0]->active && queues.nodes[0].active == 1);
		fake_drain(&made[0]);
		fake_waited(&last);
		CHECK(all_is_idle());
	}
	update(0, true, 0);
	update(0, true, 100);
	CHECK(all_is_idle()); /* the queue is empty */
}

static void burst(unsigned i, uint64_t ns)
{
	for (uint64_t end = now + ns; now < end; pass(200 * US)) {
		fake_submit(&made[i], NULL);
		fake_drain(&made[i]);
	}
}

/* After a kernel of 2 s each burst counts as work for a short time longer, not for seconds. No
 * signal shows when it ends. */
static void long_kernel_is_not_expected_for_ever(void)
{
	begin();
	queue(0, AQL);
	fake_submit(&made[0], NULL);
	wait_for(q[0], true);
	pass(2 * SECOND);
	fake_drain(&made[0]);
	CHECK(wait_for(q[0], false) <= 200 * MS);
	for (unsigned i = 0; i < 10; i++) {
		fake_submit(&made[0], NULL);
		wait_for(q[0], true);
		burst(0, 5 * MS);
		CHECK(q[0]->active);
		CHECK(wait_for(q[0], false) <= 200 * MS);
		pass(SECOND);
	}
}

/* SIGSTOP, or a machine without a free core: the polls in between are missing, so the duration of a
 * packet is unknown. */
static void stop_of_the_process_is_no_kernel(void)
{
	begin();
	queue(0, AQL);
	for (unsigned ends = 0; ends < 2; ends++) {
		fake_submit(&made[0], NULL);
		wait_for(q[0], true);
		pass(3 * MS);
		CHECK(q[0]->active && q[0]->longest_ns <= 3 * MS);
		if (ends)
			fake_drain(&made[0]);
		now = due = now + 90 * MS;
		poll_queues_once();
		CHECK(q[0]->longest_ns <= 3 * MS);
		fake_drain(&made[0]);
		wait_for(q[0], false);
		pass(SECOND);
		q[0]->longest_ns = 0;
	}
}

IN_CHILD(long_kernel_is_not_expected_for_ever)
IN_CHILD(stop_of_the_process_is_no_kernel)
IN_CHILD(stopped_by_the_runtime_is_idle)
IN_CHILD(blocked_is_not_active)
IN_CHILD(blocked_revives_with_progress)
IN_CHILD(barrier_value_blocks)
IN_CHILD(these_are_not_blocked)
IN_CHILD(offline_is_never_blocked)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_kernel_is_not_expected_for_ever),
		cmocka_unit_test(test_stop_of_the_process_is_no_kernel),
		cmocka_unit_test(test_stopped_by_the_runtime_is_idle),
		cmocka_unit_test(test_blocked_is_not_active),
		cmocka_unit_test(test_blocked_revives_with_progress),
		cmocka_unit_test(test_barrier_value_blocks),
		cmocka_unit_test(test_these_are_not_blocked),
		cmocka_unit_test(test_offline_is_never_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
