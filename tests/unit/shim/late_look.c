// SPDX-License-Identifier: MIT
/*
 * Proves: a hint that a hook gives during a late iteration of the agent's thread is kept. Between
 * two polls of the queues the thread executes orders, which can take the driver any time. The hint
 * is then newer than the beginning of the iteration, and must not count as over at its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "shim/activity.h"
#include "shim/queue_table.h"
#include "tests/lib/mock_debug.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL
#define QUIET_NS 2000000u /* the shortest quiet time, ns (docs/internals/activity.md) */

static struct fake_daemon daemon_;
static struct fake_queue q;
static unsigned number;

static void send_hold_cmd(bool hold)
{
	uint32_t word = HOLD_CMD(CLIENT_SHM_LEVEL_SELF, hold, ++number);

	__atomic_store_n(&daemon_.shm->hold_cmd, word, __ATOMIC_RELEASE);
	fake_daemon_wake(&daemon_);
	EVENTUALLY(__atomic_load_n(&daemon_.shm->hold_cmd_done, __ATOMIC_ACQUIRE) == word, 1000);
	CHECK(daemon_.shm->hold_cmd_errno == 0);
}

/* At the last moment of a slow release a slot is reserved: the queue is active, but no packet has
 * been submitted. */
static void reserve_late(void)
{
	fake_sleep_us(5000);
	fake.agent->doorbell((uint64_t)(uintptr_t)q.doorbell);
}

static uint64_t changed_ns(void)
{
	uint64_t ns;

	agent_lock();
	ns = shim_queue_by_id(0, q.id)->changed_ns;
	agent_unlock();
	return ns;
}

/* Returns the time of the last QUEUE_IDLE event, in ns; 0: there is none. */
static uint64_t idle_ns(void)
{
	uint64_t last = __atomic_load_n(&daemon_.shm->events_number, __ATOMIC_ACQUIRE);
	struct client_shm_event event;

	for (; last > 0; last--)
		if (client_shm_event_read(daemon_.shm, last, &event) == 0 &&
		    event.kind == CLIENT_SHM_EVENT_QUEUE_IDLE)
			return event.ns;
	return 0;
}

static void a_hint_outlives_a_late_iteration(void)
{
	uint64_t transitions, begun;

	setenv("KFDSHIM_LEVEL", "self", 1);
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_runtime(1) == 0);
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	__atomic_store_n(&daemon_.daemon_shm->heartbeat_ns, clock_ns() + 60000000000u,
			 __ATOMIC_RELAXED);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
	for (int i = 0; i < 5; i++) {
		send_hold_cmd(true);
		transitions = fake_daemon_transitions(&daemon_, FAKE_GPU);
		begun = clock_ns();
		fake_trap.on_resume = reserve_late;
		send_hold_cmd(false);
		fake_trap.on_resume = NULL;
		EVENTUALLY(idle_ns() > begun, 1000);
		CHECK(fake_daemon_transitions(&daemon_, FAKE_GPU) == transitions + 2);
		CHECK(idle_ns() >= changed_ns() + QUIET_NS);
	}
}

IN_CHILD(a_hint_outlives_a_late_iteration)

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_hint_outlives_a_late_iteration)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
