// SPDX-License-Identifier: MIT
/*
 * Proves the rules of common/child.h: which signal dispositions and masks a child has, that it does
 * not outlive its parent, and that child_collect() ends a program with all its processes.
 */
#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/wait.h"

#define MS UINT64_C(1000000)

static void ignore_it(int signal)
{
	(void)signal;
}

/* Runs a command as child_collect() does, with its stderr in `out`, too. */
static int collect_from(const char *const *argv, uint64_t deadline, char *out, size_t size)
{
	const struct child_program program = {
		.argv = argv,
		.environment = (const char *const[]){"CHILD_NEW=1", "CHILD_OLD", NULL},
		.stdio = {CHILD_NULL, CHILD_PIPE, STDOUT_FILENO},
	};

	return child_collect(&program, deadline, out, size);
}

static int collect(const char *script, uint64_t deadline, char *out, size_t size)
{
	return collect_from((const char *const[]){"sh", "-c", script, NULL}, deadline, out, size);
}

static void test_handlers_end(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	signal(SIGTERM, ignore_it);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	pid = child_fork(SIGKILL, false);
	if (pid == 0) {
		raise(SIGHUP);
		raise(SIGTERM);
		_exit(0);
	}
	status = child_wait(pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	pid = child_fork(SIGKILL, false);
	if (pid == 0) {
		raise(SIGHUP);
		_exit(3);
	}
	status = child_wait(pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

/* The mask of a function's child is that of its parent; a program's is empty. */
static void test_masks(void **state)
{
	/* Not by sh, because some shells empty their mask. */
	const char *const argv[] = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};
	char out[256], ignored[64];
	sigset_t blocked, now;
	int status;
	pid_t pid;

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	signal(SIGPIPE, SIG_IGN);
	pid = child_fork(SIGKILL, false);
	if (pid == 0) {
		sigprocmask(SIG_BLOCK, NULL, &now);
		_exit(sigismember(&now, SIGTERM) && !sigismember(&now, SIGINT));
	}
	status = child_wait(pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_int_equal(collect_from(argv, WAIT_FOREVER, out, sizeof(out)), 0);
	assert_int_equal(sscanf(out, "SigBlk: 0000000000000000 SigIgn: %63[0-9a-f]", ignored), 1);
	assert_int_equal(strtoull(ignored, NULL, 16) >> (SIGPIPE - 1) & 1, 0);
	sigprocmask(SIG_UNBLOCK, &blocked, NULL);
	signal(SIGPIPE, SIG_DFL);
}

static void test_buffered_output(void **state)
{
	FILE *file = tmpfile();
	char text[16];
	pid_t pid;

	(void)state;
	assert_non_null(file);
	fputs("once", file);
	pid = child_fork(SIGKILL, false);
	if (pid == 0) {
		fflush(file);
		_exit(0);
	}
	assert_int_equal(child_wait(pid), 0);
	fflush(file);
	assert_int_equal(pread(fileno(file), text, sizeof(text), 0), 4);
	fclose(file);
}

/* A grandchild whose parent dies: all write ends of the pipe are closed only when it is gone. */
static void test_death_of_the_parent(void **state)
{
	int ends[2];
	pid_t pid;
	char byte = 0;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = child_fork(SIGKILL, false);
	if (pid == 0) {
		if (child_fork(SIGKILL, true) == 0)
			for (ssize_t n = write(ends[1], &byte, 1); n == 1;)
				pause();
		/* The grandchild has written: it is not still in child_fork(). */
		_exit(read(ends[0], &byte, 1) != 1);
	}
	close(ends[1]);
	assert_int_equal(child_wait(pid), 0);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

static void test_environment(void **state)
{
	char out[64];

	(void)state;
	setenv("CHILD_OLD", "2", 1);
	assert_int_equal(collect("echo $CHILD_NEW$CHILD_OLD >&2; exit 3", WAIT_FOREVER, out, 64),
			 W_EXITCODE(3, 0));
	assert_string_equal(out, "1\n");
	assert_string_equal(getenv("CHILD_OLD"), "2");
	assert_null(getenv("CHILD_NEW"));
}

static void test_no_program(void **state)
{
	struct child_program program = {.argv = (const char *const[]){"/no/such/program", NULL},
					.stdio = {CHILD_NULL, CHILD_NULL, CHILD_NULL}};

	(void)state;
	assert_int_equal(child_start(&program, NULL), -ENOENT);
	program.argv = (const char *const[]){"/proc/self/status", NULL};
	assert_int_equal(child_start(&program, NULL), -EACCES);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* In a process that was started with stdin, stdout or stderr closed, a pipe gets their number. */
static void test_closed_stdio(void **state)
{
	const struct child_program program = {
		.argv = (const char *const[]){"/no/such/program", NULL},
		.stdio = {CHILD_NULL, CHILD_PIPE, CHILD_PIPE}};
	int status;

	(void)state;
	for (unsigned closed = 0; closed < 8; closed++) {
		pid_t pid = fork();

		if (pid == 0) {
			int output[2];

			for (int fd = 0; fd < 3; fd++)
				if (closed & 1u << fd)
					close(fd);
			_exit(child_start(&program, output) != -ENOENT);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

/* Output that just fits is not cut. */
static void test_full_buffer(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(collect("printf 1234567", WAIT_FOREVER, out, sizeof(out)), 0);
	assert_string_equal(out, "1234567");
	assert_int_equal(collect("printf 12345678", WAIT_FOREVER, out, sizeof(out)), -EFBIG);
	assert_string_equal(out, "1234567");
}

/* Output that does not fit ends all processes of the program: each holds the pipe open. */
static void test_whole_group_ends(void **state)
{
	int ends[2];
	char out[8], byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(collect("sleep 1000 & yes", WAIT_FOREVER, out, sizeof(out)), -EFBIG);
	assert_string_equal(out, "y\ny\ny\ny");
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

static void test_deadline(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(collect("exec sleep 1000", clock_ns() + 20 * MS, out, 8), -ETIMEDOUT);
	/* It has closed its output, but does not end. */
	assert_int_equal(collect("exec sleep 1000 >&- 2>&-", clock_ns() + 20 * MS, out, 8),
			 -ETIMEDOUT);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handlers_end),	 cmocka_unit_test(test_masks),
		cmocka_unit_test(test_buffered_output),	 cmocka_unit_test(test_death_of_the_parent),
		cmocka_unit_test(test_environment),	 cmocka_unit_test(test_no_program),
		cmocka_unit_test(test_whole_group_ends), cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_closed_stdio),	 cmocka_unit_test(test_full_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
