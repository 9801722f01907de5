// SPDX-License-Identifier: MIT
#include "shim/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "shim/descriptor.h"

/* Stack of the agent's threads. They use little of it, but it also contains the program's
 * thread-local variables. */
#define STACK_BYTES (256u * 1024u)

static int start(void *(*body)(void *), void *arg, bool small_stack)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (small_stack)
		pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(&thread, &attr, body, arg);
	pthread_attr_destroy(&attr);
	return err;
}

int thread_start(void *(*body)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = start(body, arg, true);
	/* EINVAL: the stack is too small for the program's thread-local variables */
	if (err == EINVAL)
		err = start(body, arg, false);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

struct sampler_sleep sampler_sleep = {.wake_fd = -1};

static void end_sleep(bool only_long)
{
	uint64_t one = 1;
	int saved = errno, fd;

	__atomic_store_n(&sampler_sleep.queried, true, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&sampler_sleep.sleeping, false, __ATOMIC_SEQ_CST) || !only_long) {
		fd = __atomic_load_n(&sampler_sleep.wake_fd, __ATOMIC_SEQ_CST);
		if (descriptor_is_ours(fd))
			(void)!write(fd, &one, sizeof(one));
	}
	errno = saved;
}

void sampler_wake(void)
{
	end_sleep(true);
}

void sampler_wake_now(void)
{
	end_sleep(false);
}
