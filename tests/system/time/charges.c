// SPDX-License-Identifier: MIT
/* Proves: the cost of a wake (host_wake_us, here 10 ms) is charged once to each wait, whatever it
 * waits for. */
#include <poll.h>
#include <semaphore.h>
#include <sys/timerfd.h>

#include "tests/lib/time_check.h"

#define WAKE 0.01

static int timer(double value, double interval)
{
	struct itimerspec new = timer_spec(value, interval);
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	CHECK(fd >= 0 && !timerfd_settime(fd, 0, &new, NULL));
	return fd;
}

static void read_count(int fd)
{
	uint64_t count;

	CHECK(read(fd, &count, sizeof(count)) == sizeof(count));
}

static void sleeps(void)
{
	uint64_t begin = mono();

	sleep_steps(1);
	TOOK(begin, 1 + WAKE);
	CHECK(poll(NULL, 0, (int)(STEP_NS / MS_NS)) == 0);
	TOOK(begin, 2 + 2 * WAKE);
}

static void timer_is_read(void)
{
	uint64_t begin = mono();
	int fd = timer(1, 0);

	read_count(fd);
	TOOK(begin, 1 + WAKE);
	close(fd);
	begin = mono();
	fd = timer(0.1, 0.1);
	for (int i = 0; i < 10; i++)
		read_count(fd);
	TOOK(begin, 1 + WAKE);
	close(fd);
}

/* A read that does not wait is not charged. */
static void timer_is_over(void)
{
	struct pollfd ready = {.fd = timer(1, 0), .events = POLLIN};
	uint64_t begin = mono();

	CHECK(poll(&ready, 1, -1) == 1);
	TOOK(begin, 1 + WAKE);
	read_count(ready.fd);
	TOOK(begin, 1 + WAKE);
	close(ready.fd);
}

static sem_t sem;

static void *post_later(void *unused)
{
	sleep_steps(1);
	sem_post(&sem);
	return unused;
}

static void semaphore(void)
{
	struct timespec at = after(CLOCK_REALTIME, 5);
	uint64_t begin = mono();
	pthread_t thread;

	CHECK(!sem_init(&sem, 0, 0));
	CHECK(!pthread_create(&thread, NULL, post_later, NULL));
	CHECK(!sem_timedwait(&sem, &at));
	TOOK(begin, 1 + 2 * WAKE);
	CHECK(!pthread_join(thread, NULL));
}

static const struct time_case cases[] = {
	{"sleeps", sleeps},
	{"timer_is_read", timer_is_read},
	{"timer_is_over", timer_is_over},
	{"semaphore", semaphore},
};

TIME_MAIN(cases)
