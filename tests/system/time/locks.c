// SPDX-License-Identifier: MIT
/* Proves waits with a timeout for condition variables, semaphores, locks and threads. */
#include <semaphore.h>
#include <threads.h>

/* longer than usual, because locks are retried every millisecond */
#define VIRTUAL_STEP_NS 100000000ull

#include "tests/lib/time_check.h"

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond, mono_cond;
	pthread_rwlock_t rwlock;
	sem_t sem;
	mtx_t mtx;
	cnd_t cnd;
	bool given;
	pthread_t sleeper;
} it;

/* Takes what it waits for and returns 0, or returns ETIMEDOUT. */
typedef int take_function(const struct timespec *at);

static int for_cond(const struct timespec *at)
{
	int r = 0;

	pthread_mutex_lock(&it.mutex);
	while (!it.given && !r)
		r = pthread_cond_timedwait(&it.cond, &it.mutex, at);
	pthread_mutex_unlock(&it.mutex);
	return r;
}

static int for_mono_cond(const struct timespec *at)
{
	int r = 0;

	pthread_mutex_lock(&it.mutex);
	while (!it.given && !r)
		r = pthread_cond_timedwait(&it.mono_cond, &it.mutex, at);
	pthread_mutex_unlock(&it.mutex);
	return r;
}

static int clockwait(clockid_t clock, const struct timespec *at)
{
	int r = 0;

	pthread_mutex_lock(&it.mutex);
	while (!it.given && !r)
		r = pthread_cond_clockwait(&it.cond, &it.mutex, clock, at);
	pthread_mutex_unlock(&it.mutex);
	return r;
}

static int for_cond_by_real(const struct timespec *at)
{
	return clockwait(CLOCK_REALTIME, at);
}

static int for_cond_by_mono(const struct timespec *at)
{
	return clockwait(CLOCK_MONOTONIC, at);
}

static int for_cnd(const struct timespec *at)
{
	int r = thrd_success;

	mtx_lock(&it.mtx);
	while (!it.given && r == thrd_success)
		r = cnd_timedwait(&it.cnd, &it.mtx, at);
	mtx_unlock(&it.mtx);
	return r == thrd_timedout ? ETIMEDOUT : r == thrd_success ? 0 : -1;
}

static int for_sem(const struct timespec *at)
{
	return sem_timedwait(&it.sem, at) ? errno : 0;
}

static int for_sem_by_mono(const struct timespec *at)
{
	return sem_clockwait(&it.sem, CLOCK_MONOTONIC, at) ? errno : 0;
}

static int for_mutex(const struct timespec *at)
{
	int r = pthread_mutex_timedlock(&it.mutex, at);

	return r ? r : pthread_mutex_unlock(&it.mutex);
}

static int for_mutex_by_mono(const struct timespec *at)
{
	int r = pthread_mutex_clocklock(&it.mutex, CLOCK_MONOTONIC, at);

	return r ? r : pthread_mutex_unlock(&it.mutex);
}

static int for_mtx(const struct timespec *at)
{
	int r = mtx_timedlock(&it.mtx, at);

	if (r == thrd_success)
		mtx_unlock(&it.mtx);
	return r == thrd_timedout ? ETIMEDOUT : r == thrd_success ? 0 : -1;
}

static int for_reading(const struct timespec *at)
{
	int r = pthread_rwlock_timedrdlock(&it.rwlock, at);

	return r ? r : pthread_rwlock_unlock(&it.rwlock);
}

static int for_writing(const struct timespec *at)
{
	int r = pthread_rwlock_timedwrlock(&it.rwlock, at);

	return r ? r : pthread_rwlock_unlock(&it.rwlock);
}

static int for_writing_by_mono(const struct timespec *at)
{
	int r = pthread_rwlock_clockwrlock(&it.rwlock, CLOCK_MONOTONIC, at);

	return r ? r : pthread_rwlock_unlock(&it.rwlock);
}

static int for_thread(const struct timespec *at)
{
	return pthread_timedjoin_np(it.sleeper, NULL, at);
}

static int for_thread_by_mono(const struct timespec *at)
{
	return pthread_clockjoin_np(it.sleeper, NULL, CLOCK_MONOTONIC, at);
}

static const struct way {
	const char *name;
	take_function *take;
	clockid_t clock;
	uint64_t late_ns; /* a lock that is retried is noticed a little late */
} ways[] = {
	{"cond_timedwait", for_cond, CLOCK_REALTIME, 0},
	{"cond_timedwait (monotonic)", for_mono_cond, CLOCK_MONOTONIC, 0},
	{"cond_clockwait (real)", for_cond_by_real, CLOCK_REALTIME, 0},
	{"cond_clockwait (monotonic)", for_cond_by_mono, CLOCK_MONOTONIC, 0},
	{"cnd_timedwait", for_cnd, CLOCK_REALTIME, 0},
	{"sem_timedwait", for_sem, CLOCK_REALTIME, 0},
	{"sem_clockwait", for_sem_by_mono, CLOCK_MONOTONIC, 0},
	{"mutex_timedlock", for_mutex, CLOCK_REALTIME, 2 * MS_NS},
	{"mutex_clocklock", for_mutex_by_mono, CLOCK_MONOTONIC, 2 * MS_NS},
	{"mtx_timedlock", for_mtx, CLOCK_REALTIME, 2 * MS_NS},
	{"rwlock_timedrdlock", for_reading, CLOCK_REALTIME, 2 * MS_NS},
	{"rwlock_timedwrlock", for_writing, CLOCK_REALTIME, 2 * MS_NS},
	{"rwlock_clockwrlock", for_writing_by_mono, CLOCK_MONOTONIC, 2 * MS_NS},
	{"timedjoin_np", for_thread, CLOCK_REALTIME, 2 * MS_NS},
	{"clockjoin_np", for_thread_by_mono, CLOCK_MONOTONIC, 2 * MS_NS},
};

/* Holds all locks for four units, and then releases what the other thread waits for. */
static void *hold(void *arg)
{
	pthread_barrier_t *held = arg;

	pthread_rwlock_wrlock(&it.rwlock);
	pthread_mutex_lock(&it.mutex);
	mtx_lock(&it.mtx);
	pthread_barrier_wait(held);
	sleep_steps(4);
	pthread_mutex_unlock(&it.mutex);
	mtx_unlock(&it.mtx);
	pthread_rwlock_unlock(&it.rwlock);
	return NULL;
}

/* The same for waits that need the mutex. */
static void *give(void *arg)
{
	pthread_barrier_wait(arg);
	sleep_steps(4);
	pthread_mutex_lock(&it.mutex);
	mtx_lock(&it.mtx);
	it.given = true;
	pthread_cond_signal(&it.cond);
	pthread_cond_signal(&it.mono_cond);
	cnd_signal(&it.cnd);
	mtx_unlock(&it.mtx);
	pthread_mutex_unlock(&it.mutex);
	sem_post(&it.sem);
	return NULL;
}

static void prepare(void)
{
	pthread_condattr_t attributes;

	memset(&it, 0, sizeof(it));
	pthread_mutex_init(&it.mutex, NULL);
	pthread_rwlock_init(&it.rwlock, NULL);
	pthread_cond_init(&it.cond, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&it.mono_cond, &attributes);
	sem_init(&it.sem, 0, 0);
	mtx_init(&it.mtx, mtx_timed);
	cnd_init(&it.cnd);
}

static void one_way(const struct way *way)
{
	bool needs_mutex = way->late_ns == 0;
	struct timespec at, past;
	pthread_barrier_t held;
	uint64_t begin;

	prepare();
	pthread_barrier_init(&held, NULL, 2);
	CHECK(!pthread_create(&it.sleeper, NULL, needs_mutex ? give : hold, &held));
	begin = mono(); /* before the time of the holder starts */
	pthread_barrier_wait(&held);
	past = after(way->clock, -1);
	CHECK(way->take(&past) == ETIMEDOUT);
	TOOK(begin, 0);
	at = after(way->clock, 1.5);
	CHECK(way->take(&at) == ETIMEDOUT);
	TOOK(begin, 1.499);
	at = after(way->clock, AMPLE(10));
	CHECK(way->take(&at) == 0);
	took_within(begin, 4 - 0.001, MS_NS + way->late_ns + STEP_NS / 1000, __LINE__);
	if (way->take != for_thread && way->take != for_thread_by_mono)
		CHECK(!pthread_join(it.sleeper, NULL));
}

static void time_outs(void)
{
	const char *name = current;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		current = ways[i].name;
		one_way(&ways[i]);
	}
	current = name;
}

static void bad_times(void)
{
	const struct timespec bad = {0, 1000000000};

	prepare();
	pthread_mutex_lock(&it.mutex);
	CHECK(pthread_cond_timedwait(&it.cond, &it.mutex, &bad) == EINVAL);
	pthread_mutex_unlock(&it.mutex);
	CHECK(sem_timedwait(&it.sem, &bad) == -1 && errno == EINVAL);
	/* the mutex is free, so the time is not used */
	CHECK(pthread_mutex_timedlock(&it.mutex, &bad) == 0);
	pthread_mutex_unlock(&it.mutex);
}

static void nap(int signal)
{
	(void)signal;
	sleep_steps(1);
}

/* A handler that waits itself during a wait: the outer wait still ends at its own deadline. */
static void signals(void)
{
	for (int i = 0; i < 2; i++) {
		uint64_t begin = mono();
		struct timespec at;
		struct caller caller;

		prepare();
		on_signal(SIGUSR1, nap, i ? SA_RESTART : 0);
		at = after(CLOCK_REALTIME, 4);
		signal_later(&caller, SIGUSR1, 1);
		CHECK(for_cond(&at) == ETIMEDOUT);
		TOOK(begin, 3.999);
		signal_joined(&caller);
		begin = mono();
		at = after(CLOCK_REALTIME, AMPLE(4));
		signal_later(&caller, SIGUSR1, 1);
		CHECK(sem_timedwait(&it.sem, &at) == -1);
		/* signal(7): restarted with SA_RESTART. The kernel does not restart it, the time
		 * library does. */
		CHECK(errno == EINTR || (is_virtual && i && errno == ETIMEDOUT));
		if (errno == EINTR)
			TOOK(begin, 2);
		signal_joined(&caller);
	}
}

#define CROWD 20u

struct waiter {
	pthread_t thread;
	unsigned number;
	int result;
	uint64_t took_ns;
};

static void *wait_in_crowd(void *arg)
{
	struct waiter *waiter = arg;
	struct timespec at = after(CLOCK_MONOTONIC, 1 + waiter->number);
	uint64_t begin = mono();

	waiter->result = clockwait(CLOCK_MONOTONIC, &at);
	waiter->took_ns = mono() - begin;
	return NULL;
}

/* Each waiter has its own deadline; the broadcast wakes all that are left. */
static void broadcast(void)
{
	struct waiter waiters[CROWD] = {0};

	prepare();
	for (unsigned i = 0; i < CROWD; i++) {
		waiters[i].number = i;
		CHECK(!pthread_create(&waiters[i].thread, NULL, wait_in_crowd, &waiters[i]));
	}
	sleep_steps(10.5);
	pthread_mutex_lock(&it.mutex);
	it.given = true;
	pthread_cond_broadcast(&it.cond);
	pthread_mutex_unlock(&it.mutex);
	for (unsigned i = 0; i < CROWD; i++) {
		CHECK(!pthread_join(waiters[i].thread, NULL));
		if (is_virtual) {
			CHECK(waiters[i].result == (i < 10 ? ETIMEDOUT : 0));
			CHECK(waiters[i].took_ns ==
			      (i < 10 ? (1 + i) * STEP_NS : STEP_NS * 21 / 2));
		}
	}
}

static void *wait_once(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&it.mutex);
	it.given = true;
	pthread_cond_wait(&it.cond, &it.mutex);
	pthread_mutex_unlock(&it.mutex);
	return NULL;
}

/* A condition variable can be destroyed, and its memory reused, once its waiters were woken. */
static void destroyed(void)
{
	static const uint8_t others = 0xa5;

	for (unsigned i = 0; i < 200; i++) {
		uint8_t *bytes = (uint8_t *)&it.cond;
		pthread_t threads[3];

		prepare();
		for (unsigned t = 0; t < 3; t++) {
			it.given = false;
			CHECK(!pthread_create(&threads[t], NULL, wait_once, NULL));
			for (bool waits = false; !waits;) {
				pthread_mutex_lock(&it.mutex);
				waits = it.given;
				pthread_mutex_unlock(&it.mutex);
				if (!waits)
					sched_yield();
			}
		}
		pthread_mutex_lock(&it.mutex);
		pthread_cond_broadcast(&it.cond);
		pthread_mutex_unlock(&it.mutex);
		pthread_cond_destroy(&it.cond);
		memset(bytes, others, sizeof(it.cond));
		for (unsigned t = 0; t < 3; t++)
			CHECK(!pthread_join(threads[t], NULL));
		for (size_t b = 0; b < sizeof(it.cond); b++)
			if (bytes[b] != others)
				CHECK(bytes[b] == others);
	}
}

static const struct time_case cases[] = {
	{"time_outs", time_outs}, {"bad_times", bad_times}, {"signals", signals},
	{"broadcast", broadcast}, {"destroyed", destroyed},
};

TIME_MAIN(cases)
