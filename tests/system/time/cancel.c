// SPDX-License-Identifier: MIT
/* Proves: a thread can be cancelled in each kind of wait, because each is a cancellation point;
 * waits for locks are not. */
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>

#include "tests/lib/time_check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, locked = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static pthread_t for_ever;

#define LONG_MS (int)(100 * STEP_NS / MS_NS)

static void in_sleep(void)
{
	sleep(100);
}

static void in_nanosleep(void)
{
	struct timespec t = timespec_of(100 * STEP_NS);

	nanosleep(&t, NULL);
}

static void in_clock_nanosleep(void)
{
	struct timespec at = after(CLOCK_REALTIME, 100);

	clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
}

static void in_poll(void)
{
	poll(NULL, 0, LONG_MS);
}

static void in_poll_for_ever(void)
{
	poll(NULL, 0, -1);
}

static void in_select(void)
{
	struct timeval t = {100, 0};

	select(0, NULL, NULL, NULL, &t);
}

static void in_epoll(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, LONG_MS);
}

static void in_sem(void)
{
	struct timespec at = after(CLOCK_REALTIME, 100);

	sem_timedwait(&sem, &at);
}

static void in_sigtimedwait(void)
{
	struct timespec t = timespec_of(100 * STEP_NS);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigtimedwait(&set, NULL, &t);
}

static void in_timedjoin(void)
{
	struct timespec at = after(CLOCK_REALTIME, 100);

	pthread_timedjoin_np(for_ever, NULL, &at);
}

static void unlock(void *arg)
{
	CHECK(pthread_mutex_trylock(&mutex) == EBUSY); /* the mutex is held again */
	pthread_mutex_unlock(arg);
}

static void in_timed_cond(void)
{
	struct timespec at = after(CLOCK_REALTIME, 100);

	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	while (!pthread_cond_timedwait(&cond, &mutex, &at))
		;
	pthread_cleanup_pop(1);
}

static void in_cond(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
}

static const struct way {
	const char *name;
	void (*wait)(void);
} ways[] = {
	{"sleep", in_sleep},
	{"nanosleep", in_nanosleep},
	{"clock_nanosleep", in_clock_nanosleep},
	{"poll", in_poll},
	{"poll for ever", in_poll_for_ever},
	{"select", in_select},
	{"epoll_wait", in_epoll},
	{"sem_timedwait", in_sem},
	{"sigtimedwait", in_sigtimedwait},
	{"timedjoin_np", in_timedjoin},
	{"cond_timedwait", in_timed_cond},
	{"cond_wait", in_cond},
};

static void *run_way(void *arg)
{
	const struct way *way = arg;

	for (;;)
		way->wait();
	return NULL;
}

static void *sleep_long(void *arg)
{
	sleep_steps(1e6);
	return arg;
}

static void in_each_wait(void)
{
	const char *name = current;

	CHECK(!pthread_create(&for_ever, NULL, sleep_long, NULL));
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		uint64_t begin = mono();
		struct timespec at;
		pthread_t thread;
		void *result = NULL;

		current = ways[i].name;
		CHECK(!pthread_create(&thread, NULL, run_way, (void *)&ways[i]));
		sleep_steps(1);
		CHECK(!pthread_cancel(thread));
		at = after(CLOCK_REALTIME, is_virtual ? 10 : 1000);
		CHECK(!pthread_timedjoin_np(thread, &result, &at));
		CHECK(result == PTHREAD_CANCELED);
		took_within(begin, 1, 2 * MS_NS, __LINE__);
		CHECK(!pthread_mutex_trylock(&mutex));
		pthread_mutex_unlock(&mutex);
	}
	current = name;
	CHECK(!pthread_cancel(for_ever));
	CHECK(!pthread_join(for_ever, NULL));
}

/* A thread that is cancelled before it waits. */
static void *cancelled_before(void *arg)
{
	CHECK(!pthread_cancel(pthread_self()));
	sleep_steps(1);
	CHECK(!"reached");
	return arg;
}

static void pending(void)
{
	uint64_t begin = mono();
	pthread_t thread;
	void *result;

	CHECK(!pthread_create(&thread, NULL, cancelled_before, NULL));
	CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
	TOOK(begin, 0);
}

static volatile bool got_through;

/* A thread that has disabled cancellation, and one that waits for a lock, are cancelled only after
 * their wait. */
static void *forbids(void *arg)
{
	struct timespec at = after(CLOCK_REALTIME, 3);
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	sleep_steps(2);
	pthread_setcancelstate(old, NULL);
	if (!arg)
		pthread_testcancel();
	CHECK(pthread_mutex_timedlock(&locked, &at) == ETIMEDOUT);
	got_through = true;
	pthread_testcancel();
	CHECK(!"reached");
	return NULL;
}

static void not_in_locks(void)
{
	uint64_t begin = mono();
	pthread_t thread;
	void *result;

	pthread_mutex_lock(&locked);
	CHECK(!pthread_create(&thread, NULL, forbids, &begin));
	sleep_steps(1);
	CHECK(!pthread_cancel(thread));
	CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
	CHECK(got_through);
	TOOK(begin, 2.999);
	pthread_mutex_unlock(&locked);
}

static const struct time_case cases[] = {
	{"in_each_wait", in_each_wait},
	{"pending", pending},
	{"not_in_locks", not_in_locks},
};

TIME_MAIN(cases)
