// SPDX-License-Identifier: MIT
/*
 * How often the agent's thread looks while less urgent work is held on the GPU: its wakes and looks
 * take 2 % of a core at most, also where these take long, and none of that in a process for which
 * no work is held.
 *
 *     close_looks WAKE_US    what a wake takes in this world (kfdsim --set host_wake_us)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "shim/link_lane.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define SETTLE_US 200000u /* what it may do at once is done */
#define REGULAR_MOST 200  /* two each 16 ms */

static struct fake_daemon daemon_;
static struct fake_queue q;
static unsigned looks; /* atomic */
static unsigned wake_us;
static unsigned look_us; /* what a look takes more */

void __real_link_look_at_board(uint64_t now_ns);
void __wrap_link_look_at_board(uint64_t now_ns);
void __wrap_link_look_at_board(uint64_t now_ns)
{
	__atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
	__real_link_look_at_board(now_ns);
	if (look_us)
		fake_sleep_us(look_us);
}

/* In a second of a long kernel, after an end that a look has found. */
static unsigned looks_a_second(const char *priority)
{
	unsigned before;

	setenv("KFDSHIM_PRIORITY", priority, 1);
	fake_begin(&daemon_, &q);
	daemon_.board->nodes[0].gpu_id = FAKE_GPU;
	daemon_.board->nodes[0].suspended = 1;
	daemon_.board->node_count = 1;
	fake_submit(&q, NULL);
	fake_drain(&q);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	fake_submit(&q, NULL);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 1, 1000);
	fake_sleep_us(SETTLE_US);
	before = __atomic_load_n(&looks, __ATOMIC_RELAXED);
	fake_sleep_us(1000000);
	before = __atomic_load_n(&looks, __ATOMIC_RELAXED) - before;
	print_message("%s: %u looks/s\n", priority, before);
	return before;
}

static void online_looks_closely(void)
{
	unsigned n = looks_a_second("online");

	CHECK(n > REGULAR_MOST);
	CHECK(n * wake_us <= 21000);
}

/* Of many queues, say, each of which costs a system call. */
static void looks_that_take_long_are_rare(void)
{
	look_us = 300;
	CHECK(looks_a_second("online") <= REGULAR_MOST);
}

static void offline_does_not(void)
{
	CHECK(looks_a_second("offline") <= REGULAR_MOST);
}

IN_CHILD(online_looks_closely)
IN_CHILD(looks_that_take_long_are_rare)
IN_CHILD(offline_does_not)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_online_looks_closely),
		cmocka_unit_test(test_looks_that_take_long_are_rare),
		cmocka_unit_test(test_offline_does_not),
	};

	if (argc != 2)
		return 2;
	wake_us = (unsigned)atoi(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
