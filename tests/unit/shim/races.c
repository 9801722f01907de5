// SPDX-License-Identifier: MIT
/* Proves: threads can create, use and destroy queues in parallel with each other, with forks,
 * spawns and signal handlers that do the same, and with the end of the process. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kfd/uapi.h"
#include "tests/lib/mock_kfd.h"
#include "tests/lib/shim_stub_daemon.h"

#define AQL KFD_IOC_QUEUE_TYPE_COMPUTE_AQL

static struct fake_daemon daemon_;

static void begin(struct fake_queue *q)
{
	fake_begin(&daemon_, q);
}

static void *spawns(void *arg)
{
	char *const argv[] = {"true", NULL}, *const env[] = {NULL};
	pid_t pid;

	(void)arg;
	for (int i = 0; i < 30; i++) {
		CHECK(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, env) == 0);
		CHECK(fake_wait_for(pid) == 0);
		pid = vfork();
		if (pid == 0) {
			execve("/bin/true", argv, env);
			_exit(127);
		}
		CHECK(fake_wait_for(pid) == 0);
	}
	return NULL;
}

static void *forks(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		CHECK(fake_wait_for(pid) == 0);
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
		pthread_mutex_lock(&driver); /* protects the mock driver's table */
		CHECK(fake_queue_create(&q, AQL) == 0);
		pthread_mutex_unlock(&driver);
		for (int j = 0; j < 5; j++) {
			fake_ring(&q, &last);
			fake_waited(&last);
		}
		pthread_mutex_lock(&driver);
		CHECK(fake_queue_destroy(&q) == 0);
		pthread_mutex_unlock(&driver);
		fake_queue_unmap(&q); /* a read of it by the agent crashes from here on */
		free(q.doorbell);
	}
	return NULL;
}

static void race(unsigned workers, unsigned others, void *(*other)(void *))
{
	pthread_t threads[8];
	struct fake_queue q;
	unsigned n = 0;

	begin(&q);
	for (unsigned i = 0; i < workers; i++)
		CHECK(pthread_create(&threads[n++], NULL, creates_and_destroys, NULL) == 0);
	for (unsigned i = 0; i < others; i++)
		CHECK(pthread_create(&threads[n++], NULL, other, NULL) == 0);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	CHECK(fake_daemon_queue_count(&daemon_) == 1);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	fake_daemon_remove(&daemon_);
}

static void threads_race(void)
{
	race(4, 0, NULL);
}

static void threads_and_forks_race(void)
{
	race(3, 1, forks);
}

static void threads_and_spawns_race(void)
{
	race(3, 1, spawns);
}

/* ---- signals ---- */

static struct fake_queue rung_by_handler;
static volatile sig_atomic_t rung;

/* Rings a doorbell and ends that work, wherever the interrupted thread was. */
static void ring_and_wait(int number)
{
	static struct fake_signal last = {.kind = 1};
	int saved = errno;

	(void)number;
	errno = EXDEV;
	fake_ring(&rung_by_handler, &last);
	fake_drain(&rung_by_handler);
	fake_waited(&last);
	CHECK(errno == EXDEV);
	errno = saved;
	rung++;
}

static void signals_at_any_point(void)
{
	struct sigaction action = {.sa_handler = ring_and_wait};
	const struct itimerval often = {{0, 211}, {0, 211}}, never = {{0, 0}, {0, 0}};
	struct fake_queue q;

	begin(&q);
	CHECK(fake_queue_create(&rung_by_handler, AQL) == 0);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 5 || rung < 200; i++)
		creates_and_destroys(NULL);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK(fake_daemon_queue_count(&daemon_) == 2);
	EVENTUALLY(fake_daemon_active(&daemon_, FAKE_GPU) == 0, 1000);
	fake_daemon_remove(&daemon_);
}

/* ---- the end of a process ---- */

static void *works_for_ever(void *arg)
{
	for (;;)
		creates_and_destroys(arg);
	return NULL;
}

/* Destructors run while threads still work, including those of the agent and its libraries, and
 * destroy queues themselves. */
static struct fake_queue left_to_the_end;

/* The queues are static for LeakSanitizer, which checks while threads still work. */
static void destroys_at_exit(void)
{
	static struct fake_queue q;

	fake_ring(&left_to_the_end, NULL);
	CHECK(fake_queue_destroy(&left_to_the_end) == 0);
	CHECK(fake_queue_create(&q, AQL) == 0);
	fake_ring(&q, NULL);
}

__attribute__((destructor)) static void after_the_others(void)
{
	static struct fake_queue q;

	if (!left_to_the_end.memory)
		return;
	CHECK(fake_queue_create(&q, AQL) == 0);
	fake_ring(&q, NULL);
	fake_sleep_us(2000);
	CHECK(fake_queue_destroy(&q) == 0);
}

static void exits_while_threads_work(void)
{
	pthread_t thread;

	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			begin(&left_to_the_end);
			atexit(destroys_at_exit);
			for (int n = 0; n < 2; n++)
				CHECK(pthread_create(&thread, NULL, works_for_ever, NULL) == 0);
			fake_sleep_us(3000);
			fake_daemon_remove(&daemon_);
			exit(0);
		}
		CHECK(fake_wait_for(pid) == 0);
	}
}

IN_CHILD(threads_race)
IN_CHILD(threads_and_forks_race)
IN_CHILD(threads_and_spawns_race)
IN_CHILD(signals_at_any_point)

#ifndef __SANITIZE_THREAD__
IN_CHILD(exits_while_threads_work)
#else
/* The test is compiled but not run. */
__attribute__((used)) static void (*const not_under_tsan)(void) = exits_while_threads_work;
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_race),
		cmocka_unit_test(test_threads_and_forks_race),
		cmocka_unit_test(test_threads_and_spawns_race),
		cmocka_unit_test(test_signals_at_any_point),
#ifndef __SANITIZE_THREAD__
		/* The mock driver has no locks: ThreadSanitizer would report races that are not the
		 * agent's. */
		cmocka_unit_test(test_exits_while_threads_work),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
