// SPDX-License-Identifier: MIT
/*
 * Proves: a process that the user names by one of its threads, and that ends while it is examined,
 * is reported as ended. Played: process_identify().
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "cli/doctor/facts.h"

#define NO_PROCESS 0x7fffffff /* above the kernel's PID_MAX_LIMIT */

int __wrap_process_identify(pid_t pid, struct process_identity *out);

static int result;

int __wrap_process_identify(pid_t pid, struct process_identity *out)
{
	*out = (struct process_identity){.pid = pid, .uid = getuid()};
	return result;
}

static int collect(pid_t pid, int identified)
{
	struct doctor_named named = {0};
	int rc;

	result = identified;
	rc = doctor_collect_named(&named, pid);
	assert_int_equal(named.identity.pid, rc || identified ? 0 : pid);
	return rc;
}

static void thread_ends(void **state)
{
	(void)state;
	assert_int_equal(collect(NO_PROCESS, -EINVAL), -ESRCH);
	assert_int_equal(collect(NO_PROCESS, -ESRCH), -ESRCH);
	assert_int_equal(collect(NO_PROCESS, -EACCES), 0);
	assert_int_equal(collect(getpid(), 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(thread_ends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
