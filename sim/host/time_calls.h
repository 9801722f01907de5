/* SPDX-License-Identifier: MIT */
/*
 * The calls of the time library to the supervisor (sim/host/time/page.h, timer_call.h).
 *
 * Threads: the one that serves the notifications.
 */
#ifndef KFDSHIM_SIM_HOST_TIME_CALLS_H
#define KFDSHIM_SIM_HOST_TIME_CALLS_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

struct sim;

/* Serves and answers the seccomp notification @n if it is such a call. Returns false if it is not. */
bool time_serve(struct sim *sim, const struct seccomp_notif *n);

#endif
