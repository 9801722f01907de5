// SPDX-License-Identifier: MIT
/* Proves, for a process without a daemon: how long it stays off the GPU in the gaps of its peer's
 * work. The moments count, so the program runs in virtual time only. */
#include "common/clock.h"
#include "tests/lib/peers_play.h"
#include "tests/lib/played_waits.h"

/* Gaps in the peer's work that are shorter than a release and another hold are held over; longer
 * gaps are not. */
static void short_gaps_are_held_over(void)
{
	struct process online;

	prepare();
	hold_cost_us = 5000;
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 1000);
	send_word(&online, 'f');
	EVENTUALLY(!is_held(), 1000); /* the costs of a hold and of a release are known now */
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 1000);
	releases = 0;
	for (int i = 0; i < 20; i++) {
		send_word(&online, 'f');
		fake_sleep_us(1000);
		send_word(&online, 'w');
		fake_sleep_us(2000);
	}
	CHECK(releases <= 5);
	send_word(&online, 'f');
	EVENTUALLY(!is_held(), 1000);
	end(&online, 0);
	clean();
}

/* The same holds if both are slow: after a gap of 15 ms the release would not have finished. */
static void gaps_that_gain_nothing_are_held_over(void)
{
	struct process online;

	prepare();
	hold_cost_us = 20000;
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	held_while_it_works(&online, 1);
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 1000);
	fake_sleep_us(100000);
	releases = 0;
	for (int i = 0; i < 20; i++) {
		send_word(&online, 'f');
		fake_sleep_us(15000);
		send_word(&online, 'w');
		fake_sleep_us(50000);
	}
	CHECK(releases == 0);
	end(&online, 0);
	clean();
}

/* Once some gaps are known to be long, the GPU is given back when the peer's work ends. */
static void long_gaps_are_not(void)
{
	struct process online;
	uint64_t ended;

	prepare();
	hold_cost_us = 5000;
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	for (int i = 0; i < 6; i++) {
		held_while_it_works(&online, 1);
		fake_sleep_us(100000);
	}
	send_word(&online, 'w');
	EVENTUALLY(is_held(), 1000);
	fake_sleep_us(20000);
	ended = clock_ns();
	send_word(&online, 'f');
	EVENTUALLY(!is_held(), 1000);
	CHECK(clock_ns() - ended < 8000000u); /* the release takes 5 ms of this */
	end(&online, 0);
	clean();
}

/* Waits for a core do not lengthen the holds that follow. */
static void waits_for_a_core_lengthen_no_hold(void)
{
	struct process online;
	uint64_t ended_ns = 0;

	prepare();
	waits_ns = 200000000;
	waits_are_played = true;
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	hold_cost_us = 100000;
	for (int i = 0; i < 2; i++) {
		send_word(&online, 'w');
		EVENTUALLY(is_held(), 1000);
		send_word(&online, 'f');
		ended_ns = clock_ns();
		EVENTUALLY(!is_held(), 1000);
	}
	CHECK(clock_ns() - ended_ns < 150000000u); /* giving back takes 100 of it */
	end(&online, 0);
	clean();
}

IN_CHILD(short_gaps_are_held_over)
IN_CHILD(gaps_that_gain_nothing_are_held_over)
IN_CHILD(long_gaps_are_not)
IN_CHILD(waits_for_a_core_lengthen_no_hold)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_gaps_are_held_over),
		cmocka_unit_test(test_gaps_that_gain_nothing_are_held_over),
		cmocka_unit_test(test_long_gaps_are_not),
		cmocka_unit_test(test_waits_for_a_core_lengthen_no_hold),
	};

	play(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
