/* SPDX-License-Identifier: MIT */
/*
 * What the tests of single parts of the daemon share about processes: a part of a test that runs
 * in a child, a child that does nothing, and the descriptors of the test itself.
 */
#ifndef KFDSHIM_TESTS_LIB_PROCESSES_H
#define KFDSHIM_TESTS_LIB_PROCESSES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child, where cmocka's assertions have no effect: the exit code, of eight bits, is the line. */
#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ % 250 + 1);                                                 \
	} while (0)

/* Fails the test if the child does. */
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

static inline pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed assertion does not end it */
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
