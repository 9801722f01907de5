// SPDX-License-Identifier: MIT
/*
 * Proves level gate, with a mock driver and a stub daemon: while the process is held, threads of
 * the program wait before they reserve a slot, and threads of the runtime do not.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/clock.h"
#include "kfd/uapi.h"
#include "tests/lib/mock_debug.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;
static struct fake_queue q;
static unsigned number;

static void begin(const char *level)
{
	setenv("KFDSHIM_LEVEL", level, 1);
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_runtime(1) == 0);
}

static void meet(void)
{
	CHECK(fake_daemon_accept(&daemon_, MEETS_MS) == 0);
	fake_daemon_remove(&daemon_);
	__atomic_store_n(&daemon_.daemon_shm->heartbeat_ns, clock_ns() + 60000000000u,
			 __ATOMIC_RELAXED);
}

/* Sends an order to the client and waits until it is acknowledged. Returns the client's errno. */
static int send_hold_cmd(enum client_shm_level level, unsigned what)
{
	uint32_t word = HOLD_CMD(level, what, ++number);

	__atomic_store_n(&daemon_.shm->hold_cmd, word, __ATOMIC_RELEASE);
	fake_daemon_wake(&daemon_);
	EVENTUALLY(__atomic_load_n(&daemon_.shm->hold_cmd_done, __ATOMIC_ACQUIRE) == word, 1000);
	return daemon_.shm->hold_cmd_errno;
}

static struct {
	struct fake_queue *queue;
	uint64_t ns;
	bool runtime, program, passed;
} passer;

static uint32_t gate(void)
{
	return __atomic_load_n(&fake.gate, __ATOMIC_SEQ_CST);
}

/* Makes the calls of hsa_signal_wait_*, which sleeps in WAIT_EVENTS. */
static void wait_in_the_driver(void)
{
	uint32_t ticket = fake.agent->wait_begin(0);

	fake.agent->events();
	fake.agent->events_end();
	fake.agent->wait_end(ticket, 0, false);
}

/* Reserves a slot with the calls that libkfdshim.so makes. */
static void *reserve(void *arg)
{
	uint64_t begun = clock_ns();

	(void)arg;
	if (passer.runtime)
		fake.agent->events();
	if (passer.program)
		wait_in_the_driver();
	if (gate())
		fake.agent->reserve(passer.queue->hsa_queue, 1);
	passer.ns = clock_ns() - begun;
	__atomic_store_n(&passer.passed, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool has_passed(void)
{
	return __atomic_load_n(&passer.passed, __ATOMIC_ACQUIRE);
}

static pthread_t reserve_on_thread(bool runtime)
{
	pthread_t thread;

	passer.queue = &q;
	passer.runtime = runtime;
	passer.passed = false;
	CHECK(pthread_create(&thread, NULL, reserve, NULL) == 0);
	return thread;
}

static void begin_gated_at(const char *level)
{
	begin(level);
	CHECK(fake_queue_create(&q, AQL) == 0);
	meet();
	CHECK(gate() == 0);
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_GATE, true) == 0);
	CHECK(gate() == 1);
}

static void begin_gated(void)
{
	begin_gated_at("gate");
}

static void gate_holds_until_opened(void)
{
	pthread_t thread;

	for (int waited = 0; waited < 2; waited++) {
		if (waited)
			CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_GATE, true) == 0);
		else
			begin_gated();
		passer.program = waited;
		thread = reserve_on_thread(false);
		fake_sleep_us(100000);
		CHECK(!has_passed());
		CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_GATE, false) == 0);
		EVENTUALLY(has_passed(), 500);
		pthread_join(thread, NULL);
	}
	CHECK(fake_trap.suspends == 0 && !fake_trap.session);
}

static void gate_holds_for_a_second(void)
{
	begin_gated();
	pthread_join(reserve_on_thread(false), NULL);
	CHECK(passer.ns >= 1000000000u && gate() == 1);
}

static void gate_is_open_for_the_runtime(void)
{
	begin_gated();
	pthread_join(reserve_on_thread(true), NULL);
	CHECK(passer.ns < 1000000000u && gate() == 1);
}

/* The same holds if the daemon has chosen the gate by itself, because no better level works or
 * because a rule requires it. */
static void gate_of_auto_is_open_for_the_runtime(void)
{
	begin_gated_at("auto");
	pthread_join(reserve_on_thread(true), NULL);
	CHECK(passer.ns < 1000000000u && gate() == 1);
}

static void gate_of_observe_is_open_for_the_runtime(void)
{
	begin_gated_at("observe");
	pthread_join(reserve_on_thread(true), NULL);
	CHECK(passer.ns < 1000000000u && gate() == 1);
}

static pthread_barrier_t all_are_there, may_end;

static void *wait_once(void *arg)
{
	(void)arg;
	wait_in_the_driver();
	pthread_barrier_wait(&all_are_there);
	pthread_barrier_wait(&may_end);
	return NULL;
}

/* More threads at a time than a table of fixed size would hold: the gate still holds. */
static void gate_holds_among_many_threads(void)
{
	enum { MANY = 300 };
	pthread_t threads[MANY], thread;
	pthread_attr_t small;

	begin_gated();
	pthread_barrier_init(&all_are_there, NULL, MANY + 1);
	pthread_barrier_init(&may_end, NULL, MANY + 1);
	pthread_attr_init(&small);
	CHECK(pthread_attr_setstacksize(&small, 1 << 18) == 0);
	for (int i = 0; i < MANY; i++)
		CHECK(pthread_create(&threads[i], &small, wait_once, NULL) == 0);
	pthread_barrier_wait(&all_are_there);
	thread = reserve_on_thread(false);
	fake_sleep_us(100000);
	CHECK(!has_passed());
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_GATE, false) == 0);
	EVENTUALLY(has_passed(), 500);
	pthread_join(thread, NULL);
	pthread_barrier_wait(&may_end);
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
}

/* Without thread-specific data the agent cannot distinguish the program's threads from the
 * runtime's. Such a gate would hold the runtime's threads, or none. */
static void gate_that_knows_no_threads_is_refused(void)
{
	pthread_key_t key;

	while (pthread_key_create(&key, NULL) == 0)
		;
	begin("gate");
	CHECK(fake_queue_create(&q, AQL) == 0);
	meet();
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_GATE, true) == EAGAIN);
	CHECK(gate() == 0);
	pthread_join(reserve_on_thread(false), NULL);
	CHECK(passer.ns < 1000000000u);
}

/* Two packets are allowed in flight: two are, then one ends. */
static void gate_with_a_limit(void)
{
	pthread_t thread;

	setenv("KFDSHIM_GATE", "2", 1);
	begin_gated();
	fake_submit(&q, NULL);
	fake_submit(&q, NULL);
	thread = reserve_on_thread(false);
	fake_sleep_us(100000);
	CHECK(!has_passed());
	fake_drain(&q);
	EVENTUALLY(has_passed(), 500);
	pthread_join(thread, NULL);
	CHECK(gate() == 1);
}

static void gate_opens_when_the_daemon_dies(void)
{
	begin_gated();
	fake_daemon_die(&daemon_);
	EVENTUALLY(gate() == 0, 1000);
}

/* The runtime's threads poll. Only a thread that is known to belong to the program waits. */
static void gate_without_interrupts(void)
{
	pthread_t thread;

	setenv("HSA_ENABLE_INTERRUPT", "0", 1);
	begin_gated();
	pthread_join(reserve_on_thread(false), NULL);
	CHECK(passer.ns < 1000000000u && gate() == 1);
	passer.program = true;
	thread = reserve_on_thread(false);
	fake_sleep_us(100000);
	CHECK(!has_passed());
	CHECK(send_hold_cmd(CLIENT_SHM_LEVEL_GATE, false) == 0);
	EVENTUALLY(has_passed(), 500);
	pthread_join(thread, NULL);
}

IN_CHILD(gate_without_interrupts)
IN_CHILD(gate_holds_until_opened)
IN_CHILD(gate_holds_for_a_second)
IN_CHILD(gate_is_open_for_the_runtime)
IN_CHILD(gate_of_auto_is_open_for_the_runtime)
IN_CHILD(gate_of_observe_is_open_for_the_runtime)
IN_CHILD(gate_holds_among_many_threads)
IN_CHILD(gate_that_knows_no_threads_is_refused)
IN_CHILD(gate_with_a_limit)
IN_CHILD(gate_opens_when_the_daemon_dies)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gate_without_interrupts),
		cmocka_unit_test(test_gate_holds_until_opened),
		cmocka_unit_test(test_gate_holds_for_a_second),
		cmocka_unit_test(test_gate_is_open_for_the_runtime),
		cmocka_unit_test(test_gate_of_auto_is_open_for_the_runtime),
		cmocka_unit_test(test_gate_of_observe_is_open_for_the_runtime),
		cmocka_unit_test(test_gate_holds_among_many_threads),
		cmocka_unit_test(test_gate_that_knows_no_threads_is_refused),
		cmocka_unit_test(test_gate_with_a_limit),
		cmocka_unit_test(test_gate_opens_when_the_daemon_dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
