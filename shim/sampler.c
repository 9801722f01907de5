// SPDX-License-Identifier: MIT
#include "shim/sampler.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "shim/activity.h"
#include "shim/config.h"
#include "shim/link.h"

#define LONG_SLEEP_NS 4000000u /* who sleeps longer wants to be woken by doorbells */
#define NO_BARRIER_NS 2000000u /* period of a kernel without membarrier(2) */
/* Little is touched of it; a program's thread-local variables lie in it too. */
#define STACK_BYTES (256u * 1024u)

static bool started;
static bool sleeping;
static int wake_fd = -1;

void sampler_wake(void)
{
	uint64_t one = 1;
	int saved = errno;

	if (__atomic_exchange_n(&sleeping, false, __ATOMIC_SEQ_CST))
		(void)!write(wake_fd, &one, sizeof(one));
	errno = saved;
}

void sampler_forget(void)
{
	if (wake_fd >= 0)
		close(wake_fd);
	wake_fd = -1;
	started = sleeping = false;
}

static uint64_t look(uint64_t now_ns)
{
	uint64_t after;

	agent_lock();
	after = activity_sample(now_ns, link_suspended());
	agent_unlock();
	return after;
}

/*
 * Before a long sleep. A submitter moves the write pointer, then
 * reads the hot table; if its store was a plain one, the read may have passed
 * it. After a barrier in every running thread of the process that is over: one
 * more look sees what it has missed.
 */
static uint64_t look_before_sleep(void)
{
	__atomic_store_n(&sleeping, true, __ATOMIC_SEQ_CST);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
		return NO_BARRIER_NS;
	return look(clock_ns());
}

static void sleep_until(uint64_t now_ns, uint64_t until_ns)
{
	struct pollfd fds[2] = {
		{.fd = wake_fd, .events = POLLIN},
		{.fd = link_socket(), .events = POLLIN},
	};
	uint64_t left = until_ns > now_ns ? until_ns - now_ns : 0, count;
	struct timespec timeout = {
		.tv_sec = (time_t)(left / 1000000000u),
		.tv_nsec = (long)(left % 1000000000u),
	};
	int n;

	n = ppoll(fds, 2, until_ns == UINT64_MAX ? NULL : &timeout, NULL);
	__atomic_store_n(&sleeping, false, __ATOMIC_SEQ_CST);
	if (n <= 0)
		return;
	if (fds[0].revents)
		(void)!read(wake_fd, &count, sizeof(count));
	if (fds[1].revents)
		link_readable();
}

static void *sampler(void *arg)
{
	uint64_t now_ns, until_ns, after;

	(void)arg;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	for (;;) {
		now_ns = clock_ns();
		until_ns = link_step(now_ns);
		after = look(now_ns);
		/* A long sleep is broken off by the first doorbell. */
		if (after > LONG_SLEEP_NS)
			after = look_before_sleep();
		if (after < UINT64_MAX && now_ns + after < until_ns)
			until_ns = now_ns + after;
		sleep_until(clock_ns(), until_ns);
	}
	return NULL;
}

/* Ready before the thread is: hooks of other threads may wake it at once. */
static int start_thread(void)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake_fd < 0)
		return errno;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, sampler, NULL);
	if (err == EINVAL) { /* too small for this program's thread-local variables */
		pthread_attr_destroy(&attr);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		err = pthread_create(&thread, &attr, sampler, NULL);
	}
	if (!err)
		pthread_setname_np(thread, "kfdshim");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (err) {
		close(wake_fd);
		wake_fd = -1;
	}
	return err;
}

void sampler_start(void)
{
	int saved = errno, err;

	if (__atomic_exchange_n(&started, true, __ATOMIC_SEQ_CST))
		return;
	err = start_thread();
	if (err)
		say(LOG_ERROR, "its thread cannot be started (%s): nothing is scheduled here",
		    strerror(err));
	errno = saved;
}
