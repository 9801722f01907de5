/* SPDX-License-Identifier: MIT */
/* Starts of the agent's threads. Threads: any. */
#ifndef KFDSHIM_SHIM_THREAD_H
#define KFDSHIM_SHIM_THREAD_H

/* Starts a detached thread with a small stack, in which all signals are blocked, so that no signal
 * handler of the program runs there. Returns 0 or an errno, and leaves errno. */
int thread_start(void *(*body)(void *), void *arg);

#endif
