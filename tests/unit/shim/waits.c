// SPDX-License-Identifier: MIT
/*
 * Proves what a hooked wait reports to the agent. preload/ is linked into this program; runtime and
 * agent are stubs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "preload/preload_priv.h"

#define EQ HSA_SIGNAL_CONDITION_EQ
#define NE HSA_SIGNAL_CONDITION_NE
#define LT HSA_SIGNAL_CONDITION_LT
#define GTE HSA_SIGNAL_CONDITION_GTE

static const hsa_signal_t signal_64 = {.handle = 64};

static int64_t found; /* result of the stub runtime's wait */
static int reports;   /* last report to the agent; -1: none */

static hsa_signal_value_t runtimes_wait(hsa_signal_t signal, hsa_signal_condition_t condition,
					hsa_signal_value_t compare, uint64_t timeout,
					hsa_wait_state_t state)
{
	(void)signal;
	(void)condition;
	(void)compare;
	(void)timeout;
	(void)state;
	return found;
}

static uint32_t wait_begin(uint64_t signal)
{
	assert_int_equal(signal, 64);
	return 5;
}

static void wait_end(uint32_t ticket, uint64_t signal, bool over)
{
	assert_int_equal(ticket, 5);
	assert_int_equal(signal, 64);
	reports = over;
}

static bool over(hsa_signal_condition_t condition, int64_t compare, int64_t value)
{
	found = value;
	reports = -1;
	assert_int_equal(wait_watched(runtimes_wait, signal_64, condition, compare, 1000,
				      HSA_WAIT_STATE_BLOCKED),
			 value);
	assert_int_not_equal(reports, -1);
	return reports;
}

/* The wait timed out, as the value shows. */
static void unmet_is_not_over(void **state)
{
	(void)state;
	assert_false(over(EQ, 0, 1));
	assert_false(over(LT, 1, 1));
	assert_false(over(NE, 0, 0));
	assert_false(over(GTE, 1, 0));
}

static void last_value_is_over(void **state)
{
	(void)state;
	assert_true(over(EQ, 0, 0));
	assert_true(over(LT, 1, 0));
	assert_true(over(NE, 1, 0));
	assert_true(over(LT, 1, -1));
}

/* Several packets share the signal, and the program waits for the first of them. */
static void counter_above_0_is_not_over(void **state)
{
	(void)state;
	assert_false(over(LT, 8, 7));
	assert_false(over(EQ, 1, 1));
	assert_false(over(NE, 8, 7));
	assert_false(over(GTE, 1, 1));
	assert_true(over(LT, 8, 0));
}

/* Each of the function's names is wrapped. There is no runtime, so each call returns the value that
 * it waits for. */
static void each_name_is_watched(void **state)
{
	wait_fn *const names[] = {hsa_signal_wait_relaxed, hsa_signal_wait_scacquire,
				  hsa_signal_wait_acquire};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		reports = -1;
		assert_int_equal(names[i](signal_64, EQ, 0, 1000, HSA_WAIT_STATE_BLOCKED), 0);
		assert_int_equal(reports, 1);
	}
}

int main(void)
{
	static const struct kfdshim_agent agent = {
		.abi = KFDSHIM_AGENT_ABI, .wait_begin = wait_begin, .wait_end = wait_end};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unmet_is_not_over),
		cmocka_unit_test(last_value_is_over),
		cmocka_unit_test(counter_above_0_is_not_over),
		cmocka_unit_test(each_name_is_watched),
	};

	agent_loaded = &agent;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
