// SPDX-License-Identifier: MIT
/*
 * Proves the reader of /proc/PID/ns: of this process, of a child in a user namespace of its own,
 * and of a process that has ended.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "common/proc.h"

static void of_ourselves(void **state)
{
	(void)state;
	assert_true(proc_namespace(0, "pid") != 0);
	assert_true(proc_namespace(0, "pid") == proc_namespace(getpid(), "pid"));
	assert_true(proc_namespace(0, "pid") != proc_namespace(0, "user"));
	assert_true(proc_namespace(0, "none of them") == 0);
	assert_int_equal(errno, ENOENT);
}

static void of_another_namespace(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) != 0) {
			perror("a user namespace, which kfdsim needs, too");
			_exit(1);
		}
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_true(proc_namespace(pid, "pid") == proc_namespace(0, "pid"));
	assert_true(proc_namespace(pid, "user") != 0);
	assert_true(proc_namespace(pid, "user") != proc_namespace(0, "user"));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(proc_namespace(pid, "user") == 0);
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_ourselves),
		cmocka_unit_test(of_another_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
