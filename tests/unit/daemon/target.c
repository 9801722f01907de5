// SPDX-License-Identifier: MIT
/*
 * Proves: a PID that an operator passes to the daemon either names one process or is refused with a
 * reason. Refused are: a missing or ended process, a zombie, a thread that is not a leader, a
 * kernel thread, the daemon's own processes, and a process that does not use a GPU. A refusal
 * leaves no descriptor open.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/daemon/reader/reader.h"
#include "tests/lib/processes.h"

static char problem[256];

static void refused(pid_t pid, int error, const char *why)
{
	struct peer_facts facts;
	unsigned before = open_files();

	problem[0] = '\0';
	assert_int_equal(target_read(pid, &facts, problem, sizeof(problem)), error);
	if (!strstr(problem, why))
		fail_msg("'%s' does not say '%s'", problem, why);
	assert_int_equal(open_files(), before);
}

static void no_numbers(void **state)
{
	(void)state;
	refused(0, -EINVAL, "not a process id");
	refused(-4711, -EINVAL, "not a process id");
}

static void ourselves(void **state)
{
	(void)state;
	refused(getpid(), -EINVAL, "kfdschedd itself");
	refused(getppid(), -EINVAL, "kfdschedd itself"); /* the parent stands for the watchdog */
}

static void gone_and_zombies(void **state)
{
	pid_t pid = start_child();
	siginfo_t info;

	(void)state;
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	refused(pid, -ESRCH, "has ended");
	waitpid(pid, NULL, 0);
	refused(pid, -ESRCH, "no process");
}

static void *print_name(void *out)
{
	*(pid_t *)out = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

static void threads(void **state)
{
	char leader[32];
	volatile pid_t *tid;
	int ends[2];
	pid_t pid, got;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		static pid_t here;
		pthread_t thread;

		tid = &here;
		pthread_create(&thread, NULL, print_name, &here);
		while (!*tid)
			usleep(1000);
		(void)!write(ends[1], &here, sizeof(here));
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &got, sizeof(got)), sizeof(got));
	snprintf(leader, sizeof(leader), "of process %d", (int)pid);
	refused(got, -EINVAL, leader);
	end_child(pid);
	close(ends[0]);
	close(ends[1]);
}

static void the_kernels(void **state)
{
	char name[16] = "";

	(void)state;
	peer_name(2, name);
	assert_string_equal(name, "kthreadd");
	refused(2, -EINVAL, "is a kernel thread");
}

static void without_a_gpu(void **state)
{
	pid_t pid = start_child();

	(void)state;
	refused(pid, -ENODEV, "does not use an AMD GPU");
	end_child(pid);
}

/* The pidfd names this process, and never a later process that gets the same PID. */
static void a_process_is_held_by_its_pidfd(void **state)
{
	struct socket_peer peer, again;
	struct peer_facts facts;
	pid_t pid = start_child();
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	(void)state;
	assert_int_equal(peer_read(pid, &facts), 0);
	assert_int_equal(peer_of(pid, pidfd, &facts, &peer), 0);
	assert_int_equal(peer.pid, pid);
	assert_int_equal(peer.uid, geteuid());
	assert_int_not_equal(peer.started, 0);
	assert_false(peer_ended(&peer));
	end_child(pid);
	assert_true(peer_ended(&peer));
	close(peer.pidfd);
	assert_int_equal(peer_of(pid, pidfd, &facts, &again), -ESRCH);
	close(pidfd);
	assert_int_equal(peer_read(pid, &facts), -ESRCH);
}

/* With an argument only the test that needs visible kernel threads runs (see CMakeLists.txt). */
int main(int argc, char **argv)
{
	const struct CMUnitTest of_the_kernel[] = {cmocka_unit_test(the_kernels)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_numbers),
		cmocka_unit_test(ourselves),
		cmocka_unit_test(gone_and_zombies),
		cmocka_unit_test(threads),
		cmocka_unit_test(without_a_gpu),
		cmocka_unit_test(a_process_is_held_by_its_pidfd),
	};

	(void)argv;
	if (argc > 1)
		return cmocka_run_group_tests(of_the_kernel, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
