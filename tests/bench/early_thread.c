// SPDX-License-Identifier: MIT
/* A library that starts a thread when it is loaded, as some do, so that a process has two of them
 * before main(). */
#include <pthread.h>
#include <unistd.h>

static void *sleep_for_ever(void *arg)
{
	pause();
	return arg;
}

__attribute__((constructor)) static void start(void)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, sleep_for_ever, NULL);
}
