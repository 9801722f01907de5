/* SPDX-License-Identifier: MIT */
/* The calls of the time library for timers (sim/host/time/timer_call.h). Threads: see
 * time_calls.h. */
#ifndef KFDSHIM_SIM_HOST_TIMER_CALLS_H
#define KFDSHIM_SIM_HOST_TIMER_CALLS_H

#include <linux/seccomp.h>

struct sim;

/* Serves and answers @n, which must be a TIME_IOC_TIMER. */
void timer_serve(struct sim *sim, const struct seccomp_notif *n);

#endif
