// SPDX-License-Identifier: MIT
/*
 * Replaces timed waits for a semaphore, a lock or the end of a thread. A semaphore is waited for in
 * the same way as in glibc, because its layout is part of glibc's ABI. All other waits are rare,
 * and are tried again and again with pauses of virtual time.
 */
#include <limits.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <string.h>

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
static void leave_semaphore(void *semaphore)
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
	pthread_cleanup_push(leave_semaphore, s);
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

/* ---- condition variables ----
 * Replaces condition variables by an implementation of this library in the program's
 * pthread_cond_t. glibc waits inside its own functions, where this library cannot replace a call.
 * All functions on condition variables are replaced here, because none of glibc's may work on an
 * object that this library uses.
 *
 * A wait sleeps while `sequence` has the value that it had when the mutex was released; signal and
 * broadcast change it. A wait may end without a signal, as POSIX allows. An object that is all zero
 * is PTHREAD_COND_INITIALIZER.
 */

struct condition {
	uint32_t sequence;
	uint32_t waiters; /* 2 for each waiter, plus 1 while the condition is being destroyed */
	int clock;	  /* clock of pthread_cond_timedwait(); CLOCK_REALTIME is 0 */
	uint32_t shared;  /* used by several processes */
};
_Static_assert(sizeof(struct condition) <= sizeof(pthread_cond_t), "pthread_cond_t");
_Static_assert(CLOCK_REALTIME == 0, "the clock of PTHREAD_COND_INITIALIZER");

static struct condition *in(pthread_cond_t *cond)
{
	return (struct condition *)(void *)cond;
}

EXPORT int pthread_cond_init(pthread_cond_t *restrict cond,
			     const pthread_condattr_t *restrict attributes)
{
	struct condition *c = in(cond);
	int shared = PTHREAD_PROCESS_PRIVATE;

	memset(cond, 0, sizeof(*cond));
	if (!attributes)
		return 0;
	pthread_condattr_getclock(attributes, &c->clock);
	pthread_condattr_getpshared(attributes, &shared);
	c->shared = shared == PTHREAD_PROCESS_SHARED;
	return 0;
}

static long futex_of(const struct condition *c, uint32_t *word, int command, uint32_t value)
{
	return raw(SYS_futex, (long)word, command | (c->shared ? 0 : FUTEX_PRIVATE_FLAG), value, 0,
		   0, 0);
}

/* Waits until all waiters have left: POSIX allows destroying the condition, and reusing its memory,
 * as soon as they were woken. */
EXPORT int pthread_cond_destroy(pthread_cond_t *cond)
{
	struct condition *c = in(cond);
	uint32_t waiters = __atomic_or_fetch(&c->waiters, 1, __ATOMIC_SEQ_CST);

	while (waiters > 1) {
		futex_of(c, &c->waiters, FUTEX_WAIT, waiters);
		waiters = __atomic_load_n(&c->waiters, __ATOMIC_SEQ_CST);
	}
	return 0;
}

static int wake(struct condition *c, int most)
{
	__atomic_add_fetch(&c->sequence, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&c->waiters, __ATOMIC_SEQ_CST))
		futex_of(c, &c->sequence, FUTEX_WAKE, (uint32_t)most);
	return 0;
}

EXPORT_AS(int, pthread_cond_signal, (pthread_cond_t * cond), wake(in(cond), 1))
EXPORT_AS(int, pthread_cond_broadcast, (pthread_cond_t * cond), wake(in(cond), INT_MAX))

struct condition_waiter {
	struct condition *condition;
	pthread_mutex_t *mutex;
};

/* Subtracts a waiter from the count. The condition must not be accessed afterwards. */
static void sign_off(struct condition *c)
{
	bool shared = c->shared;

	if (__atomic_sub_fetch(&c->waiters, 2, __ATOMIC_SEQ_CST) == 1)
		raw(SYS_futex, (long)&c->waiters, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG),
		    INT_MAX, 0, 0, 0);
}

/* Ends a wait and takes the mutex again, also if the thread is cancelled in the wait. */
static void leave(void *arg)
{
	const struct condition_waiter *waiter = arg;

	sign_off(waiter->condition);
	pthread_mutex_lock(waiter->mutex);
}

static int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns)
{
	struct condition_waiter waiter = {in(cond), mutex};
	struct condition *c = waiter.condition;
	uint32_t sequence = __atomic_load_n(&c->sequence, __ATOMIC_SEQ_CST);
	int r = 0, type;

	__atomic_add_fetch(&c->waiters, 2, __ATOMIC_SEQ_CST);
	r = pthread_mutex_unlock(mutex);
	if (r) {
		sign_off(c);
		return r;
	}
	pthread_cleanup_push(leave, &waiter);
	/* Nothing between the two calls changes state that a cancellation could leave
	 * inconsistent. */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	r = futex_until(&c->sequence, sequence, c->shared, deadline_ns);
	pthread_setcanceltype(type, NULL);
	pthread_cleanup_pop(1);
	return r == -ETIMEDOUT ? ETIMEDOUT : 0;
}

EXPORT_AS(int, pthread_cond_wait, (pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex),
	  wait_until(cond, mutex, NEVER))

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
				  clockid_t clock, const struct timespec *restrict at)
{
	if (!is_valid(at) && at->tv_sec >= 0)
		return EINVAL;
	return wait_until(cond, mutex, deadline_of(clock, at));
}

EXPORT_AS(int, pthread_cond_timedwait,
	  (pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
	   const struct timespec *restrict at),
	  pthread_cond_clockwait(cond, mutex, in(cond)->clock, at))

/* Functions of C11 threads.h, implemented by the functions above. */
#define COND(cond) ((pthread_cond_t *)(void *)(cond))
#define MUTEX(mutex) ((pthread_mutex_t *)(void *)(mutex))
EXPORT_AS(int, cnd_init, (cnd_t * cond), thrd_result(pthread_cond_init(COND(cond), NULL)))
EXPORT_AS(void, cnd_destroy, (cnd_t * cond), (void)pthread_cond_destroy(COND(cond)))
EXPORT_AS(int, cnd_signal, (cnd_t * cond), thrd_result(pthread_cond_signal(COND(cond))))
EXPORT_AS(int, cnd_broadcast, (cnd_t * cond), thrd_result(pthread_cond_broadcast(COND(cond))))
EXPORT_AS(int, cnd_wait, (cnd_t * cond, mtx_t *mutex),
	  thrd_result(pthread_cond_wait(COND(cond), MUTEX(mutex))))
EXPORT_AS(int, cnd_timedwait,
	  (cnd_t *restrict cond, mtx_t *restrict mutex, const struct timespec *restrict at),
	  thrd_result(pthread_cond_clockwait(COND(cond), MUTEX(mutex), CLOCK_REALTIME, at)))
