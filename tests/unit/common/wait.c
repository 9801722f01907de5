// SPDX-License-Identifier: MIT
/*
 * Proves that waits end at their time or at their event, and that a signal handler interrupts only
 * the functions whose contract says so.
 */
#include "common/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"

#define MS UINT64_C(1000000)
#define LONG_NS (30 * MS)
#define BETWEEN_US 2000 /* us between two signals */

static volatile sig_atomic_t signals;

static void count(int signal)
{
	(void)signal;
	signals++;
}

static void signals_come(bool on)
{
	const struct sigaction action = {.sa_handler = count};
	const struct timeval period = {0, on ? BETWEEN_US : 0};
	const struct itimerval timer = {period, period};

	sigaction(SIGALRM, &action, NULL);
	signals = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
}

static int ends[2]; /* of a pipe */

static int set_up(void **state)
{
	(void)state;
	return pipe2(ends, O_CLOEXEC);
}

static int tear_down(void **state)
{
	(void)state;
	signals_come(false);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static void what_is_ready_now(void **state)
{
	(void)state;
	assert_int_equal(poll_now(ends[0], POLLIN), 0);
	assert_int_equal(poll_now(ends[1], POLLOUT), POLLOUT);
	assert_int_equal(poll_now(-1, POLLIN), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(poll_now(ends[0], POLLIN), POLLIN);
	assert_int_equal(poll_now(1000000, POLLIN), POLLNVAL);
}

static void a_moment_that_is_over(void **state)
{
	(void)state;
	assert_int_equal(poll_one_ns(ends[0], POLLIN, 1), 0);
	assert_int_equal(poll_one_ns(ends[0], POLLIN, wait_end_ms(0)), 0);
	assert_int_equal(sleep_until_ns(1), 0);
}

static void for_ever_until_it_is_ready(void **state)
{
	(void)state;
	assert_true(wait_end_ms(-1) == WAIT_FOREVER);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(poll_one_ns(ends[0], POLLIN, wait_end_ms(-1)), POLLIN);
}

static void signals_shorten_no_wait(void **state)
{
	uint64_t begin = clock_ns();

	(void)state;
	signals_come(true);
	sleep_ns(LONG_NS);
	assert_true(clock_ns() >= begin + LONG_NS);
	assert_true(signals > 0);
	begin = clock_ns();
	assert_int_equal(poll_one_ns(ends[0], POLLIN, begin + LONG_NS), 0);
	assert_true(clock_ns() >= begin + LONG_NS);
}

static void signals_end_waits_that_allow_it(void **state)
{
	struct pollfd one = {.fd = ends[0], .events = POLLIN};

	(void)state;
	signals_come(true);
	assert_int_equal(poll_or_signal_ns(&one, 1, WAIT_FOREVER), -EINTR);
	assert_int_equal(sleep_until_ns(clock_ns() + 1000000 * MS), -EINTR);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_ready_now),
		TEST(a_moment_that_is_over),
		TEST(for_ever_until_it_is_ready),
		TEST(signals_shorten_no_wait),
		TEST(signals_end_waits_that_allow_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
