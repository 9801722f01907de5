// SPDX-License-Identifier: MIT
/* Proves what 64 peers cost, as a number of system calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/lib/many_peers.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_queue queue;
static struct fake_signal last = {.kind = 1};

/* Returns when the agent has met all peers: each has received a notification. */
static void meet(const char *priority, int theirs)
{
	many_start(theirs);
	setenv("KFDSHIM_PRIORITY", priority, 1);
	fake_start();
	CHECK(fake_queue_create(&queue, AQL) == 0);
	for (int met = 0; met < MANY; met += many_command('n'))
		fake_sleep_us(10000);
	fake_sleep_us(100000);
}

/* A kernel runs, so the sampler polls 62 times a second. No peer reports anything. */
static void silent_peers_are_not_read(void)
{
	meet("offline", PRIORITY_ONLINE);
	fake_ring(&queue, &last);
	fake_sleep_us(100000);
	shms_read = calls_of_agent = 0;
	fake_sleep_us(1000000);
	CHECK(shms_read == 0);
	CHECK(calls_of_agent <= 400); /* a few in each poll */
	/* One peer sends a notification: only its file is read. */
	many_command('s');
	EVENTUALLY(shms_read > 0, 1000);
	fake_sleep_us(100000);
	CHECK(shms_read == 1);
	many_end();
}

/* Work of the most urgent process begins and ends: all peers are notified, but only one of them by
 * the thread that rings. */
static void doorbell_wakes_one(void)
{
	meet("online", PRIORITY_OFFLINE);
	for (int i = 0; i < 6; i++) {
		calls_of_program = program_datagrams = program_writes = 0;
		if (i % 2 == 0) {
			fake_ring(&queue, &last);
		} else {
			fake_drain(&queue);
			fake_waited(&last);
		}
		CHECK(program_datagrams == 1);
		/* The agent is woken, also from the short sleeps while a kernel runs. */
		CHECK(program_writes >= 1);
		CHECK(calls_of_program <= 8);
		for (int reports = 0, n = 0; reports < MANY && n < 1000;
		     reports += many_command('n'), n++) {
			CHECK(n < 999);
			fake_sleep_us(1000);
		}
	}
	many_end();
}

IN_CHILD(silent_peers_are_not_read)
IN_CHILD(doorbell_wakes_one)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent_peers_are_not_read),
		cmocka_unit_test(test_doorbell_wakes_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
