/* SPDX-License-Identifier: MIT */
/* Starts the agent's threads, and wakes the sampler (sampler.h). Threads: any. */
#ifndef KFDSHIM_SHIM_THREAD_H
#define KFDSHIM_SHIM_THREAD_H

#include <stdbool.h>

/* Starts a detached thread with a small stack. All signals are blocked in it, so that no signal
 * handler of the program runs there. Returns 0 or a positive errno; does not change errno. */
int thread_start(void *(*body)(void *), void *arg);

/* Makes the sampler run its loop again soon. Ends its sleep only if the sleep is longer than 10 ms;
 * a shorter one ends soon enough. If the program has closed the eventfd that ends sleeps, the sleep
 * in progress lasts its full time. Keeps errno. */
void sampler_wake(void);
/* As sampler_wake(), but ends a short sleep, too, at the price of a system call each time. */
void sampler_wake_now(void);

/* State of the sampler's sleep, for sampler.c. All members are atomic. */
extern struct sampler_sleep {
	int wake_fd;   /* eventfd that ends the sleep; -1: none */
	bool sleeping; /* the sampler is in a long sleep, or about to begin one */
	bool queried; /* sampler_wake() was called: poll everything once more before a long sleep */
} sampler_sleep;

#endif
