// SPDX-License-Identifier: MIT
/*
 * Proves: a number that somebody gives the daemon names one process or is refused with a
 * sentence that says why: none, gone, a zombie, a thread, the kernel's, the daemon's own,
 * one that has nothing to do with a GPU. Nothing stays open behind a refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
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

#include "scheduler/daemon/target.h"
#include "tests/lib/processes.h"

static char problem[256];

static void refused(pid_t pid, int error, const char *why)
{
	struct peer peer;
	unsigned before = open_files();

	problem[0] = '\0';
	assert_int_equal(target_open(pid, &peer, problem, sizeof(problem)), error);
	if (!strstr(problem, why))
		fail_msg("'%s' does not say '%s'", problem, why);
	assert_int_equal(open_files(), before);
}

static void no_numbers(void **state)
{
	(void)state;
	refused(0, -EINVAL, "not the number of a process");
	refused(-4711, -EINVAL, "not the number of a process");
}

static void ourselves(void **state)
{
	(void)state;
	refused(getpid(), -EINVAL, "kfdschedd itself");
	refused(getppid(), -EINVAL, "kfdschedd itself"); /* the watchdog */
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

static void *say_who(void *out)
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
		pthread_create(&thread, NULL, say_who, &here);
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
	refused(2, -EINVAL, "of the kernel");
}

static void without_a_gpu(void **state)
{
	pid_t pid = start_child();

	(void)state;
	refused(pid, -ENODEV, "does not use an AMD GPU");
	end_child(pid);
}

/* That one it is, and none that gets its number later. */
static void a_process_is_held_by_its_pidfd(void **state)
{
	struct peer peer, again;
	pid_t pid = start_child();

	(void)state;
	assert_int_equal(peer_open(pid, peer_read, &peer), 0);
	assert_int_equal(peer.pid, pid);
	assert_int_equal(peer.uid, geteuid());
	assert_int_not_equal(peer.started, 0);
	assert_false(peer_ended(&peer));
	assert_int_equal(peer_open(pid, peer_read, &again), 0);
	assert_int_equal(again.started, peer.started);
	end_child(pid);
	assert_true(peer_ended(&peer));
	close(peer.pidfd);
	close(again.pidfd);
	assert_int_equal(peer_open(pid, peer_read, &again), -ESRCH);
}

/* With an argument only what needs threads of the kernel to be seen (CMakeLists.txt). */
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
