// SPDX-License-Identifier: MIT
/* fork, threads that race, and values in the environment that make no sense. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/kfd_abi.h"
#include "tests/shim/fake_daemon.h"
#include "tests/shim/fake_kfd.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;

static void begin(struct fake_queue *q)
{
	fake_daemon_open(&daemon_);
	fake_start();
	CHECK(fake_queue_create(q, AQL) == 0);
	CHECK(fake_daemon_accept(&daemon_, 2000) == 0);
	EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
}

static int wait_for(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A child rings, waits, destroys: nothing of it reaches its parent's lane. */
static void child_forgets(void)
{
	struct fake_signal last = {.kind = 1};
	uint32_t leaving;
	struct fake_queue q;
	pid_t pid;

	begin(&q);
	fake_ring(&q, &last);
	leaving = daemon_.lane->leaving;
	pid = fork();
	if (pid == 0) {
		CHECK(fake_ring(&q, &last)); /* nothing is hot here */
		fake_waited(&last);
		CHECK(fake_queue_destroy(&q) == 0);
		_exit(0);
	}
	CHECK(wait_for(pid) == 0);
	CHECK(daemon_.lane->leaving == leaving);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 1);
	CHECK(!fake_ring(&q, &last)); /* still hot here */
	fake_waited(&last);
	CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 0);
	fake_daemon_remove(&daemon_);
}

/* A child that uses the GPU itself is a client of its own. */
static void child_starts_anew(void)
{
	struct fake_queue q, own;
	struct lane *parents;
	pid_t pid;

	begin(&q);
	parents = daemon_.lane;
	pid = fork();
	if (pid == 0) {
		CHECK(fake_queue_create(&own, AQL) == 0);
		CHECK(fake_daemon_accept(&daemon_, 2000) == 0);
		EVENTUALLY(fake_daemon_queue_count(&daemon_) == 1, 1000);
		fake_ring(&own, NULL);
		CHECK(fake_daemon_active(&daemon_, FAKE_GPU) == 1);
		_exit(0);
	}
	CHECK(wait_for(pid) == 0);
	CHECK(parents->nodes[0].activity == 0);
	fake_daemon_remove(&daemon_);
}

/* A bare clone runs no fork handler: everything passes through. */
static void bare_clone_passes_through(void)
{
	struct lane_queue entry;
	struct fake_queue q, own;
	pid_t pid;

	begin(&q);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		CHECK(fake_queue_create(&own, AQL) == 0);
		CHECK(fake_queue_destroy(&q) == 0);
		_exit(0);
	}
	CHECK(wait_for(pid) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
	CHECK(fake_daemon_queue(&daemon_, q.id, &entry) == 0);
	fake_daemon_remove(&daemon_);
}

static void *forks(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		CHECK(wait_for(pid) == 0);
	}
	return NULL;
}

static void *creates_and_destroys(void *arg)
{
	struct fake_signal last = {.kind = 1};
	static pthread_mutex_t driver = PTHREAD_MUTEX_INITIALIZER;
	struct fake_queue q;

	(void)arg;
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&driver); /* the fake driver's table */
		CHECK(fake_queue_create(&q, AQL) == 0);
		pthread_mutex_unlock(&driver);
		for (int j = 0; j < 5; j++) {
			fake_ring(&q, &last);
			fake_waited(&last);
		}
		pthread_mutex_lock(&driver);
		CHECK(fake_queue_destroy(&q) == 0);
		pthread_mutex_unlock(&driver);
		fake_queue_unmap(&q); /* from here on a read of it is the end */
		free(q.doorbell);
	}
	return NULL;
}

static void race(unsigned workers, unsigned forkers)
{
	pthread_t threads[8];
	struct fake_queue q;
	unsigned n = 0;

	begin(&q);
	for (unsigned i = 0; i < workers; i++)
		CHECK(pthread_create(&threads[n++], NULL, creates_and_destroys, NULL) == 0);
	for (unsigned i = 0; i < forkers; i++)
		CHECK(pthread_create(&threads[n++], NULL, forks, NULL) == 0);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	fake_daemon_remove(&daemon_);
}

static void threads_race(void)
{
	race(4, 0);
}

static void threads_and_forks_race(void)
{
	race(3, 1);
}

/* What the agent says on stderr when it starts with these values. */
static int lines_said(const char *log, const char *priority, const char *group, const char *level)
{
	char text[2048];
	int fds[2], n, lines = 0;
	pid_t pid;

	CHECK(pipe(fds) == 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		setenv("KFDSHIM_LOG", log, 1);
		setenv("KFDSHIM_PRIORITY", priority, 1);
		setenv("KFDSHIM_GROUP", group, 1);
		setenv("KFDSHIM_LEVEL", level, 1);
		fake_start();
		_exit(0);
	}
	close(fds[1]);
	CHECK(wait_for(pid) == 0);
	n = (int)read(fds[0], text, sizeof(text));
	close(fds[0]);
	for (int i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

static void bad_values_are_said_once(void)
{
	char group[200];

	memset(group, 'g', sizeof(group) - 1);
	group[sizeof(group) - 1] = '\0';
	CHECK(lines_said("error", "online", "g", "auto") == 0);
	CHECK(lines_said("error", "", "", "") == 0);
	CHECK(lines_said("error", "high", "g", "auto") == 1);
	CHECK(lines_said("error", "16", group, "turbo") == 3);
	CHECK(lines_said("debug", "16", group, "turbo") == 3);
	CHECK(lines_said("off", "16", group, "turbo") == 0);
	CHECK(lines_said("", "16", group, "turbo") == 0);
	CHECK(lines_said("loud", "16", group, "turbo") == 0);
	for (int i = 0; i < 2; i++)
		CHECK(lines_said("error", "offline", "g", i ? "self" : "weight") == 0);
}

static void bad_priority_is_unset(void)
{
	struct fake_queue q;

	setenv("KFDSHIM_PRIORITY", "urgent", 1);
	begin(&q);
	CHECK(daemon_.hello.priority == PRIORITY_UNSET && daemon_.hello.group[0] == '\0');
	fake_daemon_remove(&daemon_);
}

IN_CHILD(child_forgets)
IN_CHILD(child_starts_anew)
IN_CHILD(bare_clone_passes_through)
IN_CHILD(threads_race)
IN_CHILD(threads_and_forks_race)
IN_CHILD(bad_values_are_said_once)
IN_CHILD(bad_priority_is_unset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_child_forgets),
		cmocka_unit_test(test_child_starts_anew),
		cmocka_unit_test(test_bare_clone_passes_through),
		cmocka_unit_test(test_threads_race),
		cmocka_unit_test(test_threads_and_forks_race),
		cmocka_unit_test(test_bad_values_are_said_once),
		cmocka_unit_test(test_bad_priority_is_unset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
