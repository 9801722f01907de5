// SPDX-License-Identifier: MIT
/* Proves the functions of kfdshim.h in libkfdshim.so: requests are counted, values have bounds, and
 * a forked child starts without requests. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/preload_priv.h"
#define KFDSHIM_NO_MACROS
#include "include/kfdshim.h"

const struct kfdshim_agent *agent_loaded;

static int reports;

/* The object changes, although it is const for modules that only read it. */
static struct kfdshim_app_settings app_settings(void)
{
	const volatile struct kfdshim_app_settings *now = &program_settings;

	return *now;
}

static void app_settings_changed(void)
{
	reports++;
	errno = EDOM;
}

static const struct kfdshim_agent agent = {.app_settings_changed = app_settings_changed};

static void requests_are_counted(void **state)
{
	(void)state;
	kfdshim_request_end(); /* A kfdshim_request_end() without a begin is ignored. */
	kfdshim_request_begin();
	assert_int_equal(app_settings().requests, 1);
	agent_loaded = &agent;
	reports = 0;
	errno = 0;
	kfdshim_request_begin();
	kfdshim_request_end();
	/* only the first begin and the last end are reported to the agent */
	assert_int_equal(reports, 0);
	kfdshim_request_end();
	assert_int_equal(reports, 1);
	assert_int_equal(app_settings().requests, 0);
	assert_int_equal(errno, 0);
}

static void values_have_bounds(void **state)
{
	(void)state;
	assert_int_equal(kfdshim_set_priority(16), -EINVAL);
	assert_int_equal(kfdshim_set_priority(-1), -EINVAL);
	assert_int_equal(kfdshim_set_slo(-1), -EINVAL);
	assert_int_equal(kfdshim_set_slo(1ll << 32), -EINVAL);
	assert_int_equal(kfdshim_set_priority(9), 0);
	assert_int_equal(kfdshim_set_slo(20000), 0);
	assert_int_equal(app_settings().priority, 9);
	assert_int_equal(app_settings().slo_us, 20000);
}

/* A forked child does not inherit the parent's requests: it has none to end. */
static void a_child_has_no_requests(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	kfdshim_request_begin();
	kfdshim_request_begin();
	pid = fork();
	if (pid == 0) {
		if (app_settings().requests != 0 || app_settings().priority != 9)
			_exit(1);
		kfdshim_request_end();
		if (app_settings().requests != 0)
			_exit(2);
		kfdshim_request_begin();
		_exit(app_settings().requests == 1 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(app_settings().requests, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_counted),
		cmocka_unit_test(values_have_bounds),
		cmocka_unit_test(a_child_has_no_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
