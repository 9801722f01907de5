// SPDX-License-Identifier: MIT
/*
 * Proves: a traced process does not notice the tracer. Every signal arrives, job control stops and
 * continues it, its parent sees its stops and its end, and it survives the detach and the end of
 * the tracing thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/proc.h"
#include "kfd/ptrace.h"

static struct reason reason;
static volatile sig_atomic_t *seen; /* shared with the target */
static pid_t target;

static void count(int signal)
{
	(void)signal;
	++*seen;
}

static void millisecond(void)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	nanosleep(&ms, NULL);
}

static char state_of(pid_t pid)
{
	struct proc_stat process;

	return proc_stat(pid, &process) ? process.state : '-';
}

#define TRIES 10000 /* tries, 1 ms each: a stall of the host must not fail the test */

/* Waits up to TRIES ms until the process has this state. It does not have it at once: for example,
 * a signal is counted before its handler has returned. */
static bool becomes(pid_t pid, char state)
{
	for (int tries = 0; state_of(pid) != state && tries < TRIES; tries++)
		millisecond();
	return state_of(pid) == state;
}

/* The target is a grandchild, so that its parent waits for it as in real use. The parent writes
 * each status that waitpid() returns into this pipe. */
static int parent_reports[2];
static pid_t parent;

static void run_target(void)
{
	struct sigaction action = {.sa_handler = count};

	sigaction(SIGUSR1, &action, NULL);
	for (;;)
		pause();
}

static void run_parent(int pids)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		/* The child gets a process group of its own with its parent outside of it: SIGTSTP
		 * has no effect in an orphaned group, and the group of the test may be orphaned. */
		setpgid(0, 0);
		run_target();
	}
	(void)!write(pids, &child, sizeof(child));
	while (waitpid(child, &status, WUNTRACED | WCONTINUED) == child) {
		(void)!write(parent_reports[1], &status, sizeof(status));
		if (WIFEXITED(status) || WIFSIGNALED(status))
			_exit(0);
	}
	_exit(1);
}

static int setup(void **state)
{
	int pids[2];

	(void)state;
	*seen = 0;
	if (pipe(pids) || pipe(parent_reports))
		return -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	parent = fork();
	if (parent == 0)
		run_parent(pids[1]);
	if (read(pids[0], &target, sizeof(target)) != sizeof(target))
		return -1;
	close(pids[0]);
	close(pids[1]);
	while (state_of(target) != 'S')
		millisecond();
	return tracer_seize(target, &reason);
}

static int teardown(void **state)
{
	(void)state;
	kill(target, SIGKILL);
	for (int i = 0; i < 100; i++) {
		tracer_serve(target);
		millisecond();
	}
	kill(parent, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	close(parent_reports[0]);
	close(parent_reports[1]);
	return 0;
}

/* Serves the target until its parent has reported a status. Returns that status. */
static int report(void)
{
	struct pollfd p = {.fd = parent_reports[0], .events = POLLIN};
	int status = -1;

	for (int i = 0; i < TRIES && poll(&p, 1, 1) == 0; i++)
		if (tracer_pending(target))
			tracer_serve(target);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(read(parent_reports[0], &status, sizeof(status)), sizeof(status));
	return status;
}

static void signals_arrive(void **state)
{
	(void)state;
	for (int i = 1; i <= 50; i++) {
		kill(target, SIGUSR1);
		for (int tries = 0; *seen < i && tries < TRIES; tries++) {
			tracer_serve(target);
			millisecond();
		}
		assert_int_equal(*seen, i);
	}
}

static void job_control_works(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		kill(target, i % 2 ? SIGTSTP : SIGSTOP);
		assert_true(WIFSTOPPED(report()));
		/* state of a process that a tracer has stopped */
		assert_int_equal(state_of(target), 't');
		/* The target stays stopped. */
		for (int tries = 0; tries < 20; tries++) {
			tracer_serve(target);
			millisecond();
		}
		kill(target, SIGUSR1);
		tracer_serve(target);
		assert_int_equal(*seen, i);
		kill(target, SIGCONT);
		assert_true(WIFCONTINUED(report()));
		for (int tries = 0; *seen < i + 1 && tries < TRIES; tries++) {
			tracer_serve(target);
			millisecond();
		}
		assert_int_equal(*seen, i + 1);
	}
}

static void deadly_signals_kill_and_the_parent_hears(void **state)
{
	int status;

	(void)state;
	kill(target, SIGTERM);
	status = report();
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static void sigkill_is_seen(void **state)
{
	(void)state;
	kill(target, SIGKILL);
	assert_true(WIFSIGNALED(report()));
	assert_int_equal(tracer_detach(target), -ESRCH);
}

static void detach_leaves_it_running(void **state)
{
	(void)state;
	assert_int_equal(tracer_detach(target), 0);
	kill(target, SIGUSR1);
	for (int tries = 0; !*seen && tries < TRIES; tries++)
		millisecond();
	assert_int_equal(*seen, 1);
	assert_true(becomes(target, 'S'));
	assert_int_equal(tracer_seize(target, &reason), 0); /* another tracer can attach */
}

static void detach_loses_no_signal(void **state)
{
	(void)state;
	kill(target, SIGUSR1);
	millisecond();
	/* the target is in the stop of the signal's delivery */
	assert_int_equal(tracer_detach(target), 0);
	for (int tries = 0; !*seen && tries < TRIES; tries++)
		millisecond();
	assert_int_equal(*seen, 1);
}

static void detach_leaves_a_stopped_one_stopped(void **state)
{
	(void)state;
	kill(target, SIGSTOP);
	assert_true(WIFSTOPPED(report()));
	assert_int_equal(tracer_detach(target), 0);
	assert_true(becomes(target, 'T'));
	/* The target stays stopped. */
	for (int i = 0; i < 50; i++)
		millisecond();
	assert_int_equal(state_of(target), 'T');
	kill(target, SIGCONT);
	assert_true(becomes(target, 'S'));
}

static void *seize_and_end(void *arg)
{
	struct reason why;

	(void)arg;
	return tracer_seize(target, &why) == 0 ? &target : NULL;
}

static void the_end_of_the_thread_lets_go(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(tracer_detach(target), 0);
	pthread_create(&thread, NULL, seize_and_end, NULL);
	pthread_join(thread, &result);
	assert_non_null(result);
	kill(target, SIGUSR1);
	for (int tries = 0; !*seen && tries < TRIES; tries++)
		millisecond();
	assert_int_equal(*seen, 1);
}

static void traced_already_is_reported(void **state)
{
	char expected[64];
	pthread_t thread;
	void *result;

	(void)state;
	pthread_create(&thread, NULL, seize_and_end, NULL);
	pthread_join(thread, &result);
	assert_null(result);
	assert_int_equal(tracer_seize(target, &reason), -EAGAIN);
	snprintf(expected, sizeof(expected), "traced by thread %d", (int)getpid());
	assert_non_null(strstr(reason.text, expected));
}

/* Retries tracer_seize() until the result is not -EAGAIN. */
static int seize_after(void)
{
	struct reason why;
	int error;

	do
		error = tracer_seize(target, &why);
	while (error == -EAGAIN);
	return error;
}

static void *seize_after_another(void *arg)
{
	*(int *)arg = seize_after();
	return NULL;
}

/* Another tracer can detach between the kernel's refusal and the read of TracerPid. That must not
 * be reported as a missing right. */
static void a_predecessor_is_no_lack_of_rights(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		pthread_t thread;
		int error = 1;

		pthread_create(&thread, NULL, seize_after_another, &error);
		assert_int_equal(tracer_detach(target), 0);
		pthread_join(thread, NULL); /* the end of the thread detaches the target */
		assert_int_equal(error, 0);
		assert_int_equal(seize_after(), 0);
	}
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(signals_arrive),
		HERE(job_control_works),
		HERE(deadly_signals_kill_and_the_parent_hears),
		HERE(sigkill_is_seen),
		HERE(detach_leaves_it_running),
		HERE(detach_loses_no_signal),
		HERE(detach_leaves_a_stopped_one_stopped),
		HERE(the_end_of_the_thread_lets_go),
		HERE(traced_already_is_reported),
		HERE(a_predecessor_is_no_lack_of_rights),
	};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
