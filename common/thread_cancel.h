/* SPDX-License-Identifier: MIT */
/*
 * Protects code that runs in threads of the application from thread cancellation.
 *
 * A hook must not be a cancellation point, because the call that it wraps (an ioctl, the ring of a
 * doorbell) is none. But open, read, write, close and nanosleep are cancellation points. A thread
 * that is cancelled in one of these would end in the middle of the application's call, with locks
 * of the agent held. So hooks that can reach such a call disable cancellation and restore the
 * thread's state at their end.
 */
#ifndef KFDSHIM_COMMON_THREAD_CANCEL_H
#define KFDSHIM_COMMON_THREAD_CANCEL_H

#include <pthread.h>

/* Restores the state that cancel_off() returned. */
static inline void cancel_as_before(const int *state)
{
	pthread_setcancelstate(*state, NULL);
}

/* Disables cancellation of the calling thread. Returns the previous state. */
static inline int cancel_off(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

/* Disables cancellation until the end of the enclosing block. */
#define NOT_CANCELLED                                                                              \
	__attribute__((cleanup(cancel_as_before), unused)) const int cancel_state = cancel_off()

#endif
