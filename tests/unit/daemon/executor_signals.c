// SPDX-License-Identifier: MIT
/* Proves, with an executor process whose debug sessions are played:
 *  - The executor of a target that stops handles the stop, however many targets there are.
 *  - Of many targets, a signal causes a check of the target that it names, and not of all.
 *  - The stop of a target whose signal was merged with another one is handled, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "common/wait.h"
#include "tests/lib/executor_play.h"

#define FEW 8u
#define MANY 100u
#define TRIES 20000 /* 20 s */

static bool comes_to_be_served(uint32_t i)
{
	for (int tries = 0; tries < TRIES && !play_is_served(i); tries++)
		sleep_ns(1000000);
	return play_is_served(i);
}

/* The check after add() of each target, and a check of all that is still due. */
static void settle(void)
{
	uint64_t before;

	do {
		before = play_checks();
		sleep_ns(200000000);
	} while (play_checks() != before);
}

static void each_stop_is_handled(void **state)
{
	static const uint32_t counts[] = {FEW, MANY};

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		play_begin(counts[n]);
		for (uint32_t i = 0; i < counts[n]; i++) {
			play_stop(i);
			play_signal(i);
			assert_true(comes_to_be_served(i));
		}
		play_end();
	}
}

static void a_signal_of_one_checks_one_of_many(void **state)
{
	uint64_t before;

	(void)state;
	play_begin(MANY);
	settle();
	before = play_checks();
	play_signal(MANY / 2); /* without a stop: the kernel reports a SIGCONT, too */
	settle();
	assert_int_equal(play_checks() - before, 1);
	play_end();
}

static void a_stop_whose_signal_was_merged_is_handled(void **state)
{
	(void)state;
	play_begin(MANY);
	settle();
	for (uint32_t i = 0; i < MANY; i++)
		play_stop(i);
	play_signal(0);
	for (uint32_t i = 0; i < MANY; i++)
		assert_true(comes_to_be_served(i));
	play_end();
}

/* A process may end before its executor has opened it. The sessions of others in the same executor
 * process must not end because of that. */
static void a_target_that_has_ended_is_refused(void **state)
{
	(void)state;
	play_begin(2);
	play_attach_to_ended();
	play_act(2, EXECUTOR_SUSPEND);
	play_act(2, EXECUTOR_RESUME);
	play_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stop_is_handled),
		cmocka_unit_test(a_signal_of_one_checks_one_of_many),
		cmocka_unit_test(a_stop_whose_signal_was_merged_is_handled),
		cmocka_unit_test(a_target_that_has_ended_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
