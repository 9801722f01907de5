// SPDX-License-Identifier: MIT
/*
 * Proves the reader of /proc/PID/stat: of a process whose name looks like the rest of the line, and
 * of a process that runs, is stopped, is a zombie, or has ended.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "common/proc.h"

static void of_ourselves(void **state)
{
	struct proc_stat own, parent;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "a) Z 1 (b) T 2"), 0);
	assert_true(proc_stat(getpid(), &own));
	assert_int_equal(own.state, 'R');
	assert_true(own.started > 0);
	assert_true((uintptr_t)&own < own.stack); /* the stack grows downwards */
	assert_true((uintptr_t)&own > own.stack - (64u << 20));
	assert_true(proc_stat(getppid(), &parent));
	assert_true(parent.started <= own.started);
}

static void cpu_time_grows(void **state)
{
	struct proc_stat before, now;

	(void)state;
	assert_true(proc_stat(getpid(), &before));
	do
		assert_true(proc_stat(getpid(), &now));
	while (now.cpu_ticks < before.cpu_ticks + 2);
	assert_int_equal(now.started, before.started);
}

static void of_a_child(void **state)
{
	struct proc_stat child;
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		/* a failed assertion would otherwise leave it behind */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
	assert_true(proc_stat(pid, &child));
	assert_int_equal(child.state, 'T');
	assert_false(child.ending);
	assert_false(child.kernel_thread);
	kill(pid, SIGCONT);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(proc_stat(pid, &child));
	assert_int_equal(child.state, 'Z');
	assert_true(child.ending);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(proc_stat(pid, &child));
	assert_int_equal(child.state, 0);
	assert_int_equal(child.started, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_ourselves),
		cmocka_unit_test(cpu_time_grows),
		cmocka_unit_test(of_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
