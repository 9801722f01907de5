/* SPDX-License-Identifier: MIT */
/* Timer calls to the supervisor, and timers that start threads. Internal to the time library. */
#ifndef KFDSHIM_SIM_HOST_TIME_TIMERS_H
#define KFDSHIM_SIM_HOST_TIME_TIMERS_H

#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "sim/host/time/timer_call.h"

/* Makes a TIME_IOC_TIMER call (timer_call.h), again after a signal handler has run.
 * Returns the operation's result, or a negative errno. Any thread. */
long timer_call(uint64_t what, uint64_t number, uint64_t first, uint64_t second);

/* Makes a timer of @clock that starts a thread at each expiration (SIGEV_THREAD).
 * Returns as TIME_OP_MAKE, or a negative errno. */
long timer_thread_make(clockid_t clock, const struct sigevent *event);

#endif
