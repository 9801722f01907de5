// SPDX-License-Identifier: MIT
/* Proves, for a process without a daemon: when it takes its queues off the GPU and gives them back,
 * by which level, and what follows a hold that fails. */
#include "tests/lib/peers_play.h"
#include "tests/lib/played_waits.h"
#include <errno.h>

static bool saves_waves = true;

bool __wrap_topology_saves_waves(void);

bool __wrap_topology_saves_waves(void)
{
	return saves_waves;
}

/* The driver does not save waves here, so level self would reset the GPU. */
static void without_cwsr_by_the_gate(void)
{
	struct process online;

	prepare();
	saves_waves = false;
	expected_level = CLIENT_SHM_LEVEL_GATE;
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	held_while_it_works(&online, 3);
	end(&online, 0);
	clean();
}

static void a_refused_hold_is_no_hold(void)
{
	struct process online;

	prepare();
	hold_error = -ECANCELED; /* the hold is only impossible at this moment */
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	send_word(&online, 'w');
	never_held();
	__atomic_store_n(&hold_error, 0, __ATOMIC_SEQ_CST);
	EVENTUALLY(is_held(), 1000);
	send_word(&online, 'f');
	EVENTUALLY(!is_held(), 1000);
	__atomic_store_n(&hold_error, -EPERM, __ATOMIC_SEQ_CST);
	send_word(&online, 'w');
	never_held();
	end(&online, 0);
	clean();
}

/* Counts how often a hold is tried that fails with `error` (the pauses are 100 ms, 200 ms, ...),
 * within `us` of the first try. `more`: waits for one more try after that. */
static int tries_failing(int error, unsigned us, bool more)
{
	struct process online;
	int n;

	prepare();
	hold_error = error;
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	send_word(&online, 'w');
	EVENTUALLY(tries > 0, 1000);
	fake_sleep_us(us);
	n = __atomic_load_n(&tries, __ATOMIC_SEQ_CST);
	__atomic_store_n(&hold_error, 0, __ATOMIC_SEQ_CST);
	if (more)
		EVENTUALLY(tries > n, 3000);
	else
		fake_sleep_us(1000000);
	end(&online, 0);
	clean();
	return n;
}

static void failures_are_tried_more_rarely(void)
{
	int n = tries_failing(-EPERM, 1000000, true);

	/* tries at 0, 100, 300 and 700 ms; if this thread is late, also at 1500 ms */
	CHECK(n >= 2 && n <= 5);
}

/* Another try would make the driver reset the GPU. */
static void firmware_that_fails_is_not_queried_again(void)
{
	CHECK(tries_failing(-EIO, 200000, false) == 1);
	CHECK(tries == 1 && !is_held());
}

static void slow_firmware_is_not_queried_again(void)
{
	struct process online;

	prepare();
	hold_cost_us = 60000;
	waits_are_played = true;
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	held_while_it_works(&online, 2);
	send_word(&online, 'w');
	never_held();
	CHECK(takes == 2);
	end(&online, 0);
	clean();
}

/* Waits for a core do not count as the firmware's time, whenever they happen. */
static void waits_for_a_core_are_not_the_firmware(void)
{
	struct process online;

	prepare();
	waits_ns = 200000000;
	waits_are_played = true;
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	held_while_it_works(&online, 4);
	CHECK(waited_ns >= 8 * waits_ns);
	end(&online, 0);
	clean();
}

static void held_by_level(const char *name, enum client_shm_level level)
{
	struct process online;

	prepare();
	setenv("KFDSHIM_LEVEL", name, 1);
	expected_level = level;
	be("offline", "", 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	work();
	held_while_it_works(&online, 1);
	end(&online, 0);
	clean();
}

static void the_level_is_the_process_own(void)
{
	held_by_level("gate", CLIENT_SHM_LEVEL_GATE);
}

static void weight_too(void)
{
	held_by_level("weight", CLIENT_SHM_LEVEL_WEIGHT);
}

/* Level trap becomes self, because without a daemon there is no debugger. */
static void trap_is_self(void)
{
	held_by_level("trap", CLIENT_SHM_LEVEL_SELF);
}

/* The process starts to work while a more urgent peer works, at a moment when the sampler sleeps
 * for a short time only. */
static void work_that_begins_late_is_held_at_once(void)
{
	struct fake_queue sdma;
	struct process online;

	prepare();
	be("offline", "", 0);
	/* No hook sees this queue, so the sampler keeps polling. */
	CHECK(fake_queue_create(&sdma, KFD_IOC_QUEUE_TYPE_SDMA) == 0);
	online = start("online", "", 0);
	EVENTUALLY(files_count(".lane") == 2, 2000);
	send_word(&online, 'w');
	never_held();
	for (int i = 0; i < 10; i++) {
		__atomic_add_fetch(sdma.wptr, 1, __ATOMIC_SEQ_CST); /* the previous copy */
		__atomic_store_n(sdma.rptr, *sdma.wptr, __ATOMIC_SEQ_CST);
		fake_sleep_us(30000);
		work();
		EVENTUALLY(is_held(), 1000);
		finish();
		send_word(&online, 'f');
		EVENTUALLY(!is_held(), 1000);
		send_word(&online, 'w');
	}
	end(&online, 0);
	clean();
}

IN_CHILD(a_refused_hold_is_no_hold)
IN_CHILD(without_cwsr_by_the_gate)
IN_CHILD(failures_are_tried_more_rarely)
IN_CHILD(firmware_that_fails_is_not_queried_again)
IN_CHILD(slow_firmware_is_not_queried_again)
IN_CHILD(waits_for_a_core_are_not_the_firmware)
IN_CHILD(the_level_is_the_process_own)
IN_CHILD(weight_too)
IN_CHILD(trap_is_self)
IN_CHILD(work_that_begins_late_is_held_at_once)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_refused_hold_is_no_hold),
		cmocka_unit_test(test_without_cwsr_by_the_gate),
		cmocka_unit_test(test_failures_are_tried_more_rarely),
		cmocka_unit_test(test_firmware_that_fails_is_not_queried_again),
		cmocka_unit_test(test_slow_firmware_is_not_queried_again),
		cmocka_unit_test(test_waits_for_a_core_are_not_the_firmware),
		cmocka_unit_test(test_the_level_is_the_process_own),
		cmocka_unit_test(test_weight_too),
		cmocka_unit_test(test_trap_is_self),
		cmocka_unit_test(test_work_that_begins_late_is_held_at_once),
	};

	play(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
