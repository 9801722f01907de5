// SPDX-License-Identifier: MIT
#include "shim/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

/* The threads use little of their stack, but the program's thread-local variables are part of
 * it. */
#define STACK_BYTES (256u * 1024u)

int thread_start(void *(*body)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, body, arg);
	/* EINVAL: the stack is too small for the program's thread-local variables */
	if (err == EINVAL) {
		pthread_attr_destroy(&attr);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		err = pthread_create(&thread, &attr, body, arg);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return err;
}
