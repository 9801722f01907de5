// SPDX-License-Identifier: MIT
/*
 * Proves: after the agent has marked a queue idle it polls the queue again, so that work submitted
 * in the short time between its decision and the mark is seen. The test makes that moment: calls of
 * the agent are intercepted by the linker (--wrap), and the program submits within them.
 */
#include <linux/membarrier.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "shim/activity.h"
#include "shim/safe_read.h"
#include "shim/sampler.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL
#define MS 1000000ull

static struct fake_queue made;
static struct shim_queue *raced; /* when this queue is marked idle, the program submits once */
/* true: the program submits at the next barrier; accessed atomically */
static bool at_barrier;

bool __real_memory_read(void *to, uint64_t address, size_t size);
bool __wrap_memory_read(void *to, uint64_t address, size_t size);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

bool __wrap_memory_read(void *to, uint64_t address, size_t size)
{
	if (raced && !raced->active && address == (uint64_t)(uintptr_t)made.wptr) {
		raced = NULL;
		fake_submit(&made, NULL);
	}
	return __real_memory_read(to, address, size);
}

/* A plain store can stay in the processor's store buffer for any time, but not across a barrier. */
long __wrap_syscall(long number, ...)
{
	long a[6], result;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	result = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_membarrier && a[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED && result == 0 &&
	    __atomic_exchange_n(&at_barrier, false, __ATOMIC_SEQ_CST))
		fake_submit(&made, NULL);
	return result;
}

/* Makes a queue of a second context, whose pointers the agent reads by memory_read(). */
static struct shim_queue *volatile_queue(void)
{
	struct kfdabi_create_queue args;
	struct shim_queue *q;

	fake_queue_memory(&made, AQL, &args);
	q = shim_queue_new(1, &args, sizeof(args));
	CHECK(q != NULL && q->read_via_kernel);
	agent_lock();
	CHECK(queue_insert(q) == 0);
	activity_queue_added(q, clock_ns());
	agent_unlock();
	return q;
}

/* Polls the queues once, as the sampler does; the agent's thread does not run here. */
static void poll_at(uint64_t now_ns)
{
	agent_lock();
	poll_queues(now_ns, false);
	agent_unlock();
}

static void idle_is_checked_twice(void)
{
	uint64_t now;
	struct shim_queue *q;

	fake_start();
	q = volatile_queue();
	now = clock_ns();
	for (int i = 0; i < 10; i++) {
		fake_submit(&made, NULL);
		poll_at(now += MS);
		CHECK(q->active);
		fake_drain(&made);
		raced = q;
		for (int j = 0; j < 100 && raced; j++)
			poll_at(now += MS);
		CHECK(!raced); /* the queue was about to become idle */
		CHECK(q->active && queues.nodes[0].active == 1);
		fake_drain(&made);
		for (int j = 0; j < 100 && q->active; j++)
			poll_at(now += MS);
		CHECK(!q->active && queues.nodes[0].active == 0);
	}
}

/* Such work counts as missed by the hooks, so the hooks must see several bursts until the thread
 * sleeps without a timeout again. */
static void be_covered(struct fake_daemon *daemon, struct fake_signal *last)
{
	for (int i = 0; i < 20; i++) {
		fake_ring(&made, last);
		fake_drain(&made);
		fake_waited(last);
		EVENTUALLY(fake_daemon_active(daemon, FAKE_GPU) == 0, 1000);
	}
}

/* The hooks have seen the queue and it is drained, so the thread would sleep without a timeout. No
 * doorbell is seen, because its check of the table of active doorbells came before the store of the
 * write pointer. */
static void sleep_is_polled_twice(void)
{
	struct fake_signal last = {.kind = 1};
	struct fake_daemon daemon;

	fake_daemon_open(&daemon);
	fake_start();
	CHECK(fake_queue_create(&made, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon, MEETS_MS) == 0);
	fake_daemon_remove(&daemon);
	for (int i = 0; i < 10; i++) {
		be_covered(&daemon, &last);
		fake_ring(&made, &last);
		fake_drain(&made);
		__atomic_store_n(&at_barrier, true, __ATOMIC_SEQ_CST);
		fake_waited(&last);
		EVENTUALLY(!__atomic_load_n(&at_barrier, __ATOMIC_SEQ_CST), 2000);
		EVENTUALLY(fake_daemon_active(&daemon, FAKE_GPU) == 1, 1000);
		fake_drain(&made);
		EVENTUALLY(fake_daemon_active(&daemon, FAKE_GPU) == 0, 1000);
	}
}

IN_CHILD(idle_is_checked_twice)
IN_CHILD(sleep_is_polled_twice)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_is_checked_twice),
		cmocka_unit_test(test_sleep_is_polled_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
