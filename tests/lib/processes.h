/* SPDX-License-Identifier: MIT */
/*
 * Helpers of the daemon's unit tests: run a part of a test in a child process, start an idle child,
 * count the open file descriptors of the test itself.
 */
#ifndef KFDSHIM_TESTS_LIB_PROCESSES_H
#define KFDSHIM_TESTS_LIB_PROCESSES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* An assertion for a child process, where those of cmocka have no effect. The child's exit code
 * encodes the line: line modulo 250, plus 1, because it has eight bits. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 250 + 1);                                                 \
	} while (0)

/* Runs `what` in a child process. Fails the test if the child fails. */
static inline void in_a_child(void (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		what();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		fail_msg("%s %d", WIFSIGNALED(status) ? "signal" : "line (modulo 250, and 1)",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Returns an idle child process, to be ended with end_child(). */
static inline pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* a failed assertion would otherwise leave it behind */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static inline void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Returns the number of entries in /proc/self/fd, for comparison with an earlier one. */
static inline unsigned open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

#endif
