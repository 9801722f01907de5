/* SPDX-License-Identifier: MIT */
/* The agent's threads: how they start, and how the sampler's (sampler.h) is woken. Threads: any. */
#ifndef KFDSHIM_SHIM_THREAD_H
#define KFDSHIM_SHIM_THREAD_H

#include <stdbool.h>

/* Starts a detached thread with a small stack, in which all signals are blocked, so that no signal
 * handler of the program runs there. Returns 0 or an errno, and leaves errno. */
int thread_start(void *(*body)(void *), void *arg);

/* Makes the sampler run its loop again soon: ends a long sleep; a sleep of at most 10 ms ends by
 * itself. If the program has closed the eventfd for this, the sleep in progress lasts its full
 * time. Keeps errno. */
void sampler_wake(void);
/* As sampler_wake(), but ends a short sleep, too, at the price of a system call each time. */
void sampler_wake_now(void);

/* How the sampler sleeps, for sampler.c. All atomic. */
extern struct sampler_sleep {
	int wake_fd;   /* eventfd that ends the sleep; -1: none */
	bool sleeping; /* the thread begins a long sleep, or is in one */
	bool queried; /* sampler_wake() was called: poll everything once more before a long sleep */
} sampler_sleep;

#endif
