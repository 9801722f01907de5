/* SPDX-License-Identifier: MIT */
/*
 * A hook is no cancellation point: neither ioctl nor ringing a doorbell is one, while
 * open, read, write, close and nanosleep are. A thread that is cancelled in one of those
 * would end in the middle of somebody else's call, with our locks held. So what may use
 * them puts it off, and gives the thread back as it was.
 */
#ifndef KFDSHIM_COMMON_CANCEL_H
#define KFDSHIM_COMMON_CANCEL_H

#include <pthread.h>

/* Takes what cancel_off returned. */
static inline void cancel_as_before(const int *state)
{
	pthread_setcancelstate(*state, NULL);
}

static inline int cancel_off(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

/* Until the end of the block. */
#define NOT_CANCELLED                                                                              \
	__attribute__((cleanup(cancel_as_before), unused)) const int cancel_state = cancel_off()

#endif
