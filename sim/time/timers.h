/* SPDX-License-Identifier: MIT */
/* Inside the time library: calls of the supervisor about timers, and timers that run threads. */
#ifndef KFDSHIM_SIM_TIME_TIMERS_H
#define KFDSHIM_SIM_TIME_TIMERS_H

#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "sim/time/timer_call.h"

/* TIME_IOC_TIMER. Returns the operation's result or a negative errno; also where a signal
 * handler runs meanwhile. */
long timer_call(uint64_t what, uint64_t number, uint64_t first, uint64_t second);

/* Makes a timer of @clock that starts a thread at each expiration (SIGEV_THREAD). Returns as
 * TIME_OP_MAKE does, or a negative errno. */
long timer_thread_make(clockid_t clock, const struct sigevent *event);

#endif
