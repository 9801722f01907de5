/* SPDX-License-Identifier: MIT */
/*
 * The agent's one thread, "kfdshim": looks at the queues' pointers while there
 * is something to look at, and keeps the link to the daemon.
 */
#ifndef KFDSHIM_SHIM_SAMPLER_H
#define KFDSHIM_SHIM_SAMPLER_H

/* Starts the thread at the first call. All signals are blocked in it. If it
 * cannot be started, that is said, and nothing in this process is scheduled. */
void sampler_start(void);
/* Ends its sleep, if it sleeps. Any thread; keeps errno. */
void sampler_wake(void);
/* Fork child: there is no such thread here. */
void sampler_forget(void);

#endif
