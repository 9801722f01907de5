// SPDX-License-Identifier: MIT
/*
 * Proves that the identity of a process is read correctly: of this process, of a zombie, of one in
 * a pid namespace of its own, of one whose arguments could damage a terminal. A pid that is no
 * process is reported clearly.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* clang-format off: cmocka wants some of the above first */
#include <cmocka.h>
/* clang-format on */

#include "cli/inspect/gpu_processes.h"
#include "cli/inspect/process.h"

static struct process_identity identity;

static void this_process(void **state)
{
	(void)state;
	assert_int_equal(process_identify(getpid(), &identity), 0);
	assert_int_equal(identity.pid, getpid());
	assert_int_equal(identity.uid, geteuid());
	assert_int_equal(identity.state, 'R');
	assert_int_equal(identity.depth, 1);
	assert_int_equal(identity.pids[0], getpid());
	assert_int_equal(identity.host_pid, observe_names_match() ? getpid() : 0);
	assert_int_equal(identity.tracer, 0);
	assert_false(identity.kernel);
	assert_true(process_is(&identity));
	identity.started++;
	assert_false(process_is(&identity)); /* the pid belongs to another process now */
}

/* Starts a copy of /bin/sleep under that name, in a directory of its own. Returns its pid. */
static pid_t start_called(const char *directory, const char *name)
{
	char path[128], command[300];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	snprintf(command, sizeof(command), "cp /bin/sleep %s", path);
	assert_int_equal(system(command), 0);
	pid = fork();
	if (pid == 0) {
		execl(path, path, "60", NULL);
		_exit(1);
	}
	for (int i = 0;
	     i < 1000 && process_identify(pid, &identity) == 0 && strcmp(identity.comm, name); i++)
		usleep(10000);
	unlink(path);
	assert_string_equal(identity.comm, name);
	return pid;
}

/* process_is_ours() recognises a process by its exact name and, if that can be read, by its
 * program, whose file may have been replaced. */
static void what_is_ours(void **state)
{
	static const struct {
		const char *name;
		bool ours;
	} cases[] = {{"kfdsched", true},
		     {"kfdschedd", true},
		     {"kfdsched_bench", false},
		     {"kfdschedd_user", false}};
	char directory[] = "/tmp/kfdshim-ours-XXXXXX", before[16];
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(directory));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid = start_called(directory, cases[i].name);
		assert_int_equal(process_is_ours(pid), cases[i].ours);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	rmdir(directory);
	proc_comm(getpid(), before);
	prctl(PR_SET_NAME, "kfdschedd-work");
	assert_false(process_is_ours(getpid())); /* a name that a program gave itself */
	prctl(PR_SET_NAME, before);
}

static void what_is_no_process(void **state)
{
	char text[PROCESS_ERRMSG];
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(process_identify(pid, &identity), -ESRCH);
	assert_non_null(strstr(process_errmsg(text, pid, -ESRCH), "there is no process"));
	assert_int_equal(process_identify(0, &identity), -ESRCH);
	assert_int_equal(process_identify(-1, &identity), -ESRCH);
}

static void zombie(void **state)
{
	pid_t pid = fork();
	siginfo_t info;

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_identify(pid, &identity), 0);
	assert_int_equal(identity.state, 'Z');
	assert_string_equal(identity.command, "");
	assert_int_equal(identity.container.engine, CONTAINER_NONE);
	waitpid(pid, NULL, 0);
}

static pid_t tid;
static pthread_barrier_t barrier;

static void *a_thread(void *arg)
{
	tid = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

static void thread(void **state)
{
	char text[PROCESS_ERRMSG], expected[64];
	pthread_t other;

	(void)state;
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&other, NULL, a_thread, NULL), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(process_identify(tid, &identity), -EINVAL);
	snprintf(expected, sizeof(expected), "a thread of process %d", (int)getpid());
	assert_non_null(strstr(process_errmsg(text, tid, -EINVAL), expected));
	pthread_barrier_wait(&barrier);
	pthread_join(other, NULL);
}

static pid_t start(char *const argv[], int *end)
{
	int hold[2];
	pid_t pid;

	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(hold[0], 0);
		execv("/bin/cat", argv);
		_exit(1);
	}
	close(hold[0]);
	*end = hold[1];
	return pid;
}

static void harmful_arguments(void **state)
{
	static char many[2 * PROCESS_COMMAND];
	char *const argv[] = {(char[]){"cat\033[2J"}, (char[]){"-"}, (char[]){"-"}, (char[]){"-"},
			      NULL};
	char *const long_argv[] = {many, NULL};
	int end;
	pid_t pid = start(argv, &end);

	(void)state;
	/* The name is read before the command line, and the exec may happen in between. */
	for (int i = 0; i < 500 && (strncmp(identity.command, "cat?", 4) != 0 ||
				    strcmp(identity.comm, "cat") != 0);
	     i++) {
		assert_int_equal(process_identify(pid, &identity), 0);
		usleep(10000);
	}
	assert_string_equal(identity.command, "cat?[2J - - -");
	assert_string_equal(identity.comm, "cat");
	close(end);
	waitpid(pid, NULL, 0);

	memset(many, 'x', sizeof(many) - 1);
	pid = start(long_argv, &end);
	for (int i = 0; i < 500 && identity.command[0] != 'x'; i++) {
		assert_int_equal(process_identify(pid, &identity), 0);
		usleep(10000);
	}
	assert_int_equal(strlen(identity.command), PROCESS_COMMAND - 1);
	close(end);
	waitpid(pid, NULL, 0);
}

/* Its pids in both namespaces are read, and it is reported to be in some container. */
static void in_a_namespace(void **state)
{
	pid_t pid;

	(void)state;
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0) | SIGCHLD,
			     NULL, NULL, NULL, NULL);
	if (pid == 0) {
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(process_identify(pid, &identity), 0);
	assert_int_equal(identity.depth, 2);
	assert_int_equal(identity.pids[0], pid);
	assert_int_equal(identity.pids[1], 1);
	assert_int_not_equal(identity.container.engine, CONTAINER_NONE);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_process),
		cmocka_unit_test(what_is_ours),
		cmocka_unit_test(what_is_no_process),
		cmocka_unit_test(zombie),
		cmocka_unit_test(thread),
		cmocka_unit_test(harmful_arguments),
		cmocka_unit_test(in_a_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
