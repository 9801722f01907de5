// SPDX-License-Identifier: MIT
/*
 * Replaces timed waits for a semaphore, a lock or the end of a thread. A semaphore is waited for in
 * the same way as in glibc, because its layout is part of glibc's ABI. All other waits are rare,
 * and are tried again and again with pauses of virtual time.
 */
#include <pthread.h>
#include <semaphore.h>

#include "sim/host/time/library.h"

#define PAUSE_MIN_NS 20000u
#define PAUSE_MAX_NS 1000000u

/* sem_t of glibc on 64-bit machines: the value in the low half of `data`, the number of waiters in
 * the high half. */
struct semaphore {
	uint64_t data;
	uint32_t shared; /* 0: used by one process only */
};
#define ONE_WAITER (1ull << 32)

/* Subtracts the waiter from the semaphore's count, also if the thread is cancelled in the wait. */
static void leave(void *semaphore)
{
	struct semaphore *s = semaphore;

	__atomic_sub_fetch(&s->data, ONE_WAITER, __ATOMIC_SEQ_CST);
}

static int wait_for_post(sem_t *sem, uint64_t until)
{
	struct semaphore *s = (struct semaphore *)(void *)sem;
	int r = 0, saved = errno, type;

	while (!r && sem_trywait(sem)) {
		errno = saved;
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
		r = futex_until((uint32_t *)(void *)&s->data, 0, s->shared != 0, until);
		pthread_setcanceltype(type, NULL);
		if (r != -ETIMEDOUT && r != -EINTR)
			r = 0;
	}
	return r;
}

EXPORT int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict at)
{
	struct semaphore *s = (struct semaphore *)(void *)sem;
	int saved = errno;
	int r;

	pthread_testcancel();
	if (!sem_trywait(sem))
		return 0;
	errno = saved;
	if (!is_valid(at))
		return (int)returned(-EINVAL);
	__atomic_add_fetch(&s->data, ONE_WAITER, __ATOMIC_SEQ_CST);
	pthread_cleanup_push(leave, s);
	r = wait_for_post(sem, deadline_of(clock, at));
	pthread_cleanup_pop(1);
	return (int)returned(r);
}

EXPORT_AS(int, sem_timedwait, (sem_t *restrict sem, const struct timespec *restrict at),
	  sem_clockwait(sem, CLOCK_REALTIME, at))

/* Calls @attempt until it returns something other than EBUSY, or until the time @at of @clock.
 * Returns its result, ETIMEDOUT or EINVAL. */
static int try_cancellable(int (*attempt)(void *), void *object, clockid_t clock,
			   const struct timespec *at)
{
	uint64_t until, pause = PAUSE_MIN_NS;
	int r = attempt(object);

	if (r != EBUSY)
		return r;
	if (!is_valid(at))
		return EINVAL;
	until = deadline_of(clock, at);
	while (r == EBUSY) {
		if (now_ns() >= until)
			return ETIMEDOUT;
		sleep_pause(&pause, PAUSE_MAX_NS, until, TIME_WAIT_FUTEX);
		r = attempt(object);
	}
	return r;
}

/* As try_cancellable(), but is no cancellation point, because waiting for a lock is none. */
static int try_until(int (*attempt)(void *), void *object, clockid_t clock,
		     const struct timespec *at)
{
	int state, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	r = try_cancellable(attempt, object, clock, at);
	pthread_setcancelstate(state, NULL);
	return r;
}

static int try_mutex(void *mutex)
{
	return pthread_mutex_trylock(mutex);
}

static int try_read(void *lock)
{
	return pthread_rwlock_tryrdlock(lock);
}

static int try_write(void *lock)
{
	return pthread_rwlock_trywrlock(lock);
}

EXPORT_AS(int, pthread_mutex_clocklock,
	  (pthread_mutex_t * mutex, clockid_t clock, const struct timespec *at),
	  try_until(try_mutex, mutex, clock, at))
EXPORT_AS(int, pthread_mutex_timedlock,
	  (pthread_mutex_t *restrict mutex, const struct timespec *restrict at),
	  try_until(try_mutex, mutex, CLOCK_REALTIME, at))
EXPORT_AS(int, mtx_timedlock, (mtx_t *restrict mutex, const struct timespec *restrict at),
	  thrd_result(try_until(try_mutex, mutex, CLOCK_REALTIME, at)))
EXPORT_AS(int, pthread_rwlock_clockrdlock,
	  (pthread_rwlock_t *restrict lock, clockid_t clock, const struct timespec *restrict at),
	  try_until(try_read, lock, clock, at))
EXPORT_AS(int, pthread_rwlock_timedrdlock,
	  (pthread_rwlock_t *restrict lock, const struct timespec *restrict at),
	  try_until(try_read, lock, CLOCK_REALTIME, at))
EXPORT_AS(int, pthread_rwlock_clockwrlock,
	  (pthread_rwlock_t *restrict lock, clockid_t clock, const struct timespec *restrict at),
	  try_until(try_write, lock, clock, at))
EXPORT_AS(int, pthread_rwlock_timedwrlock,
	  (pthread_rwlock_t *restrict lock, const struct timespec *restrict at),
	  try_until(try_write, lock, CLOCK_REALTIME, at))

struct joining {
	pthread_t thread;
	void **result;
};

static int try_join(void *arg)
{
	const struct joining *joining = arg;

	return pthread_tryjoin_np(joining->thread, joining->result);
}

EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
				const struct timespec *at)
{
	struct joining joining = {thread, result};

	if (!at)
		return pthread_join(thread, result);
	return try_cancellable(try_join, &joining, clock, at);
}

EXPORT_AS(int, pthread_timedjoin_np, (pthread_t thread, void **result, const struct timespec *at),
	  pthread_clockjoin_np(thread, result, CLOCK_REALTIME, at))
