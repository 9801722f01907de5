// SPDX-License-Identifier: MIT
/* Proves condition variables, semaphores and mutexes that two processes share. */
#include <semaphore.h>
#include <sys/mman.h>

#include "tests/lib/time_check.h"

#define TURNS 100u

static struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t sem, reply;
	unsigned round;
	uint64_t done_ns;
} * shared;

static void prepare(void)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	CHECK(shared != MAP_FAILED);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &mutex);
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
	pthread_condattr_setclock(&cond, CLOCK_MONOTONIC);
	pthread_cond_init(&shared->cond, &cond);
	sem_init(&shared->sem, 1, 0);
	sem_init(&shared->reply, 1, 0);
}

/* Takes every second turn, each after a hundredth of a unit. */
static void play(unsigned first)
{
	struct timespec at;
	int r;

	for (unsigned round = first; round < TURNS; round += 2) {
		pthread_mutex_lock(&shared->mutex);
		at = after(CLOCK_MONOTONIC, AMPLE(10));
		r = 0;
		while (shared->round != round && !r)
			r = pthread_cond_timedwait(&shared->cond, &shared->mutex, &at);
		CHECK(!r);
		pthread_mutex_unlock(&shared->mutex);
		sleep_steps(0.01);
		pthread_mutex_lock(&shared->mutex);
		shared->round++;
		pthread_cond_signal(&shared->cond);
		pthread_mutex_unlock(&shared->mutex);
	}
}

static void play_second(void *unused)
{
	(void)unused;
	play(1);
}

static void condition(void)
{
	uint64_t begin = mono();
	pid_t pid;

	prepare();
	pid = start_process(play_second, NULL);
	play(0);
	CHECK(!ended(pid));
	TOOK(begin, TURNS / 100.0);
}

static void reply(void *unused)
{
	struct timespec at;

	(void)unused;
	for (unsigned i = 0; i < TURNS; i++) {
		at = after(CLOCK_REALTIME, AMPLE(5));
		CHECK(!sem_timedwait(&shared->sem, &at));
		sleep_steps(0.01);
		sem_post(&shared->reply);
	}
}

static void semaphores(void)
{
	uint64_t begin = mono();
	struct timespec at;
	pid_t pid;

	prepare();
	pid = start_process(reply, NULL);
	for (unsigned i = 0; i < TURNS; i++) {
		sem_post(&shared->sem);
		at = after(CLOCK_REALTIME, AMPLE(5));
		CHECK(!sem_timedwait(&shared->reply, &at));
	}
	TOOK(begin, TURNS / 100.0);
	at = after(CLOCK_REALTIME, 2);
	CHECK(sem_timedwait(&shared->reply, &at) == -1 && errno == ETIMEDOUT);
	TOOK(begin, TURNS / 100.0 + 1.999);
	CHECK(!ended(pid));
}

static void lock_and_die(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&shared->mutex);
	sleep_steps(3);
	pthread_mutex_unlock(&shared->mutex);
}

static void mutex(void)
{
	struct timespec at;
	pid_t pid;

	prepare();
	pid = start_process(lock_and_die, NULL);
	sleep_steps(0.5);
	at = after(CLOCK_REALTIME, 1);
	CHECK(pthread_mutex_timedlock(&shared->mutex, &at) == ETIMEDOUT);
	at = after(CLOCK_REALTIME, AMPLE(5));
	CHECK(pthread_mutex_timedlock(&shared->mutex, &at) == 0);
	CHECK(!ended(pid));
}

static void wait_in_vain(void *unused)
{
	struct timespec at = after(CLOCK_MONOTONIC, 1000);

	(void)unused;
	pthread_mutex_lock(&shared->mutex);
	pthread_cond_timedwait(&shared->cond, &shared->mutex, &at);
	CHECK(!"reached");
}

/* A waiter that is killed does not affect the other waiters. */
static void waiter_killed(void)
{
	uint64_t begin = mono();
	struct timespec at;
	pid_t pid;

	prepare();
	pid = start_process(wait_in_vain, NULL);
	sleep_steps(1);
	kill(pid, SIGKILL);
	CHECK(ended(pid) == 256 + SIGKILL);
	pthread_mutex_lock(&shared->mutex);
	at = after(CLOCK_MONOTONIC, 2);
	CHECK(pthread_cond_timedwait(&shared->cond, &shared->mutex, &at) == ETIMEDOUT);
	pthread_mutex_unlock(&shared->mutex);
	TOOK(begin, 2.999);
}

static const struct time_case cases[] = {
	{"condition", condition},
	{"semaphores", semaphores},
	{"mutex", mutex},
	{"waiter_killed", waiter_killed},
};

TIME_MAIN(cases)
