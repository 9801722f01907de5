/* SPDX-License-Identifier: MIT */
/*
 * The agent's one thread, "kfdshim": looks at the queues' pointers while there
 * is something to look at, and keeps the link to the daemon.
 */
#ifndef KFDSHIM_SHIM_SAMPLER_H
#define KFDSHIM_SHIM_SAMPLER_H

#include <stdint.h>

/* Tests make it shorter. The longest sleep while there are queues; without, 6 times
 * that. */
extern uint64_t sampler_longest_ns; /* 10 s */

/* Starts the thread at the first call. All signals are blocked in it. If it
 * cannot be started, that is said, and nothing in this process is scheduled. */
void sampler_start(void);
/* Ends its sleep, if it sleeps; if the program has closed what that takes, the sleep
 * lasts its time, and only that one. Any thread; keeps errno. */
void sampler_wake(void);
/* Fork child: there is no such thread here. */
void sampler_forget(void);

#endif
