// SPDX-License-Identifier: MIT
/*
 * Proves: the daemon relies on a hold that was acknowledged, so the hold survives an interruption
 * (the end of the runtime) and a slow driver, without another order.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "shim/hold.h"
#include "tests/lib/mock_debug.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;
static struct fake_queue q, other;
static unsigned number;

/* Sends an order to the client and waits until it is acknowledged. Returns the client's errno. */
static int send_hold_cmd(enum client_shm_level level, bool hold)
{
	uint32_t word = HOLD_CMD(level, hold, ++number);

	__atomic_store_n(&daemon_.shm->hold_cmd, word, __ATOMIC_RELEASE);
	fake_daemon_wake(&daemon_);
	EVENTUALLY(__atomic_load_n(&daemon_.shm->hold_cmd_done, __ATOMIC_ACQUIRE) == word, 3000);
	return daemon_.shm->hold_cmd_errno;
}

static void begin(const char *level)
{
	setenv("KFDSHIM_LEVEL", level, 1);
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_runtime(1) == 0);
	CHECK(fake_queue_create(&q, AQL) == 0);
	CHECK(fake_queue_create(&other, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	__atomic_store_n(&daemon_.daemon_shm->heartbeat_ns, clock_ns() + 60000000000u,
			 __ATOMIC_RELAXED);
}

static void nothing_forbidden(void)
{
	CHECK(fake_trap.slept == 0);
	CHECK(fake_trap.not_suspended == 0);
	CHECK(fake_trap.unasked == 0);
}

/* hsa_shut_down() and hsa_init() during one hold. */
static void over_an_end_of_the_runtime(void)
{
	begin("self");
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_trap_attached() == 2);
	CHECK(fake_runtime(0) == 0);
	CHECK(!fake_trap.session && fake_trap_attached() == 0);
	fake_sleep_us(50000);
	CHECK(fake_runtime(1) == 0);
	EVENTUALLY(fake_trap_attached() == 2, 2000);
	CHECK(daemon_.shm->hold_cmd_errno == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_trap_attached() == 0);
	nothing_forbidden();
}

/* The hold was ordered and released before the runtime starts again, so the process runs. */
static void released_without_a_runtime(void)
{
	begin("self");
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_runtime(0) == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_runtime(1) == 0);
	fake_sleep_us(50000);
	CHECK(fake_trap_attached() == 0);
	nothing_forbidden();
}

/* An order without a runtime is refused, and does not take effect later. */
static void refused_without_a_runtime(void)
{
	begin("self");
	CHECK(fake_runtime(0) == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == ECANCELED);
	CHECK(fake_runtime(1) == 0);
	fake_sleep_us(50000);
	CHECK(fake_trap_attached() == 0);
	nothing_forbidden();
}

static void slowly(void)
{
	fake_sleep_us(800000);
}

/* The suspend takes longer than the lease lasts. */
static void over_a_slow_suspend(void)
{
	unsigned resumes;

	hold_lease_ns = 400000000u;
	begin("self");
	resumes = fake_trap.resumes;
	fake_trap.on_suspend = slowly;
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	fake_trap.on_suspend = NULL;
	fake_sleep_us(200000);
	CHECK(fake_trap_attached() == 2 && fake_trap.resumes == resumes);
	CHECK(daemon_.shm->hold_cmd_errno == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	nothing_forbidden();
}

/* There is nothing to release, and the shared memory shows that. The next order opens a new
 * session. */
static void session_ended_while_held(void)
{
	begin("self");
	EVENTUALLY(daemon_.shm->own_session == CLIENT_SHM_OWN_SESSION, 1000);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	fake_trap_end_session();
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	EVENTUALLY(daemon_.shm->own_session == CLIENT_SHM_OWN_NONE, 1000);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_trap.session && fake_trap_attached() == 2);
	CHECK(daemon_.shm->own_session == CLIENT_SHM_OWN_SESSION);
	nothing_forbidden();
}

/* The process runs from then on, and the daemon finds an errno in the shared memory. */
static void session_ended_is_published(void)
{
	begin("self");
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	fake_trap_end_session();
	EVENTUALLY(daemon_.shm->hold_cmd_errno == EINVAL, 2000);
	EVENTUALLY(daemon_.shm->own_session == CLIENT_SHM_OWN_NONE, 1000);
	nothing_forbidden();
}

static void session_ended_while_it_runs(void)
{
	begin("self");
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	fake_trap_end_session();
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, true) == 0);
	CHECK(fake_trap.session && fake_trap_attached() == 2);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_SELF, false) == 0);
	CHECK(fake_trap_attached() == 0);
	nothing_forbidden();
}

IN_CHILD(session_ended_while_held)
IN_CHILD(session_ended_is_published)
IN_CHILD(session_ended_while_it_runs)
IN_CHILD(over_an_end_of_the_runtime)
IN_CHILD(released_without_a_runtime)
IN_CHILD(refused_without_a_runtime)
IN_CHILD(over_a_slow_suspend)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session_ended_while_held),
		cmocka_unit_test(test_session_ended_is_published),
		cmocka_unit_test(test_session_ended_while_it_runs),
		cmocka_unit_test(test_over_an_end_of_the_runtime),
		cmocka_unit_test(test_released_without_a_runtime),
		cmocka_unit_test(test_refused_without_a_runtime),
		cmocka_unit_test(test_over_a_slow_suspend),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
