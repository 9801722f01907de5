// SPDX-License-Identifier: MIT
/*
 * Proves: where liburcu would end the process or wait for ever, a read or a wait for readers is
 * refused instead. The linker intercepts system calls of the agent (--wrap).
 */
#include "shim/readers.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "tests/lib/mock_kfd.h"

#define MS 1000000ull

static bool no_memory, no_barrier; /* the agent's calls fail */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_membarrier && __atomic_load_n(&no_barrier, __ATOMIC_SEQ_CST)) {
		errno = EPERM;
		return -1;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (!no_memory)
		return __real_mmap(at, size, protection, flags, fd, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

/* ---- a thread that reads ---- */

static struct {
	pthread_t thread;
	bool reads, end; /* atomic */
} reader;

static void *read_until_told(void *arg)
{
	CHECK(readers_begin());
	__atomic_store_n(&reader.reads, true, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&reader.end, __ATOMIC_SEQ_CST))
		fake_sleep_us(1000);
	readers_end();
	return arg;
}

static void reader_starts(void)
{
	readers_init();
	CHECK(pthread_create(&reader.thread, NULL, read_until_told, NULL) == 0);
	EVENTUALLY(__atomic_load_n(&reader.reads, __ATOMIC_SEQ_CST), 1000);
}

static void reader_ends(void)
{
	__atomic_store_n(&reader.end, true, __ATOMIC_SEQ_CST);
	CHECK(pthread_join(reader.thread, NULL) == 0);
}

/* ---- what it proves ---- */

static void without_readers_the_wait_ends(void)
{
	readers_init();
	CHECK(readers_wait());
	CHECK(readers_begin());
	readers_end();
	CHECK(readers_wait());
}

static void *wait_for_readers(void *ended)
{
	__atomic_store_n((int *)ended, readers_wait(), __ATOMIC_SEQ_CST);
	return NULL;
}

static void the_wait_ends_with_the_reader(void)
{
	pthread_t waiter;
	int ended = -1;

	reader_starts();
	CHECK(pthread_create(&waiter, NULL, wait_for_readers, &ended) == 0);
	fake_sleep_us(20000);
	CHECK(__atomic_load_n(&ended, __ATOMIC_SEQ_CST) == -1);
	reader_ends();
	CHECK(pthread_join(waiter, NULL) == 0);
	CHECK(ended == 1);
}

/* The first wait has its limit, later ones none at all while it goes on. */
static void a_reader_that_stays_is_not_waited_for(void)
{
	uint64_t begun;

	reader_starts();
	CHECK(!readers_wait());
	begun = clock_ns();
	CHECK(!readers_wait());
	CHECK(clock_ns() - begun < 50 * MS);
	reader_ends();
	EVENTUALLY(readers_wait(), 1000);
}

static void handler(int number)
{
	(void)number;
	CHECK(readers_begin());
	CHECK(!readers_wait());
	readers_end();
}

/* A signal handler within a read: its wait would be for its own thread. */
static void a_handler_does_not_wait_for_its_thread(void)
{
	readers_init();
	signal(SIGUSR1, handler);
	CHECK(readers_begin());
	raise(SIGUSR1);
	readers_end();
	CHECK(readers_wait());
}

static void without_memory_there_is_no_read(void)
{
	readers_init();
	no_memory = true;
	CHECK(!readers_begin());
	no_memory = false;
	CHECK(readers_begin());
	no_memory = true; /* the thread is registered by now */
	CHECK(readers_begin());
	readers_end();
	readers_end();
}

/* A seccomp filter that the program has installed since: liburcu would abort. */
static void without_membarrier_there_is_no_wait(void)
{
	readers_init();
	CHECK(readers_begin());
	readers_end();
	__atomic_store_n(&no_barrier, true, __ATOMIC_SEQ_CST);
	CHECK(!readers_wait());
	__atomic_store_n(&no_barrier, false, __ATOMIC_SEQ_CST);
	CHECK(readers_wait());
}

static void *read_once(void *result)
{
	*(int *)result = readers_begin();
	if (*(int *)result == 1)
		readers_end();
	return NULL;
}

/* Returns whether another thread can read. */
static bool others_can_read(void)
{
	pthread_t thread;
	int result = -1;

	CHECK(pthread_create(&thread, NULL, read_once, &result) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	return result == 1;
}

/* Forks with the agent's handlers. Returns whether the child's threads can read and wait. */
static bool child_works(void)
{
	int status;
	pid_t child;

	readers_before_fork();
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		readers_after_fork_child();
		_exit(others_can_read() && readers_wait() ? 0 : 1);
	}
	readers_after_fork_parent();
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status) == 0;
}

/* The reader is not in the child. */
static void a_child_has_its_own_readers(void)
{
	reader_starts();
	CHECK(child_works());
	reader_ends();
	CHECK(readers_wait() && others_can_read());
}

/* A wait goes on, so liburcu's locks are taken for ever in the child. */
static void a_fork_does_not_wait_for_a_reader(void)
{
	reader_starts();
	CHECK(!readers_wait());
	CHECK(!child_works());
	reader_ends();
	EVENTUALLY(readers_wait(), 1000);
	CHECK(child_works());
}

/* A wait that begins during a fork of another thread begins after it. */
static void a_fork_delays_a_wait(void)
{
	pthread_t waiter;
	int ended = -1;

	readers_init();
	readers_before_fork();
	CHECK(pthread_create(&waiter, NULL, wait_for_readers, &ended) == 0);
	fake_sleep_us(20000);
	CHECK(__atomic_load_n(&ended, __ATOMIC_SEQ_CST) == -1);
	readers_after_fork_parent();
	CHECK(pthread_join(waiter, NULL) == 0);
	CHECK(ended == 1);
}

/* The program's fork handler: the fork ends only after the call, so the call is refused at once,
 * also while another thread waits for the end of the fork. */
static void a_fork_handler_does_not_wait_for_its_fork(void)
{
	pthread_t waiter;
	uint64_t begun;
	int ended = -1;

	readers_init();
	readers_before_fork();
	CHECK(pthread_create(&waiter, NULL, wait_for_readers, &ended) == 0);
	fake_sleep_us(10000);
	begun = clock_ns();
	CHECK(!readers_wait());
	CHECK(clock_ns() - begun < 50 * MS);
	readers_after_fork_parent();
	CHECK(pthread_join(waiter, NULL) == 0);
	CHECK(ended == 1);
	CHECK(readers_wait());
}

/* clone() without the handlers. */
static void a_child_without_handlers_does_not_read(void)
{
	int status;
	pid_t child;

	readers_init();
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		_exit(others_can_read() ? 1 : 0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(others_can_read());
}

IN_CHILD(without_readers_the_wait_ends)
IN_CHILD(the_wait_ends_with_the_reader)
IN_CHILD(a_reader_that_stays_is_not_waited_for)
IN_CHILD(a_handler_does_not_wait_for_its_thread)
IN_CHILD(without_memory_there_is_no_read)
IN_CHILD(without_membarrier_there_is_no_wait)
IN_CHILD(a_child_has_its_own_readers)
IN_CHILD(a_fork_does_not_wait_for_a_reader)
IN_CHILD(a_fork_delays_a_wait)
IN_CHILD(a_fork_handler_does_not_wait_for_its_fork)
IN_CHILD(a_child_without_handlers_does_not_read)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_readers_the_wait_ends),
		cmocka_unit_test(test_the_wait_ends_with_the_reader),
		cmocka_unit_test(test_a_reader_that_stays_is_not_waited_for),
		cmocka_unit_test(test_a_handler_does_not_wait_for_its_thread),
		cmocka_unit_test(test_without_memory_there_is_no_read),
		cmocka_unit_test(test_without_membarrier_there_is_no_wait),
		cmocka_unit_test(test_a_child_has_its_own_readers),
		cmocka_unit_test(test_a_fork_does_not_wait_for_a_reader),
		cmocka_unit_test(test_a_fork_delays_a_wait),
		cmocka_unit_test(test_a_fork_handler_does_not_wait_for_its_fork),
		cmocka_unit_test(test_a_child_without_handlers_does_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
