// SPDX-License-Identifier: MIT
/*
 * Proves how often the agent's thread polls the queues while less urgent work is held on the GPU:
 * its wakes and polls take at most 2 % of a core, also where they take long. A process for which no
 * work is held polls at the ordinary rate.
 *
 *   close_looks WAKE_US    duration of a wake in this simulation (kfdsim --set host_wake_us)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "shim/publish.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define SETTLE_US 200000u /* after this time the immediate work is done */
/* polls per second at the ordinary rate: two in each 16 ms (125), and a margin */
#define REGULAR_MOST 200

static struct fake_daemon daemon_;
static struct fake_queue q;
static unsigned polls; /* number of polls; accessed atomically */
static unsigned wake_us;
static unsigned poll_us; /* additional duration of a poll */

void __real_link_read_daemon_shm(uint64_t now_ns);
void __wrap_link_read_daemon_shm(uint64_t now_ns);
void __wrap_link_read_daemon_shm(uint64_t now_ns)
{
	__atomic_add_fetch(&polls, 1, __ATOMIC_RELAXED);
	__real_link_read_daemon_shm(now_ns);
	if (poll_us)
		fake_sleep_us(poll_us);
}

/* Returns the number of polls in one second of a long kernel, after a poll has found the end of the
 * previous work. */
static unsigned polls_a_second(const char *priority)
{
	unsigned before;

	setenv("KFDSHIM_PRIORITY", priority, 1);
	fake_begin(&daemon_, &q);
	daemon_.daemon_shm->nodes[0].gpu_id = FAKE_GPU;
	daemon_.daemon_shm->nodes[0].suspended = 1;
	daemon_.daemon_shm->node_count = 1;
	fake_submit(&q, NULL);
	fake_drain(&q);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	fake_submit(&q, NULL);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	fake_sleep_us(SETTLE_US);
	before = __atomic_load_n(&polls, __ATOMIC_RELAXED);
	fake_sleep_us(1000000);
	before = __atomic_load_n(&polls, __ATOMIC_RELAXED) - before;
	print_message("%s: %u looks/s\n", priority, before);
	return before;
}

static void online_polls_closely(void)
{
	unsigned n = polls_a_second("online");

	CHECK(n > REGULAR_MOST);
	CHECK(n * wake_us <= 21000);
}

/* As with many queues, each of which costs a system call. */
static void polls_that_take_long_are_rare(void)
{
	poll_us = 300;
	CHECK(polls_a_second("online") <= REGULAR_MOST);
}

static void offline_does_not(void)
{
	CHECK(polls_a_second("offline") <= REGULAR_MOST);
}

IN_CHILD(online_polls_closely)
IN_CHILD(polls_that_take_long_are_rare)
IN_CHILD(offline_does_not)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_online_polls_closely),
		cmocka_unit_test(test_polls_that_take_long_are_rare),
		cmocka_unit_test(test_offline_does_not),
	};

	if (argc != 2)
		return 2;
	wake_us = (unsigned)atoi(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
