/* SPDX-License-Identifier: MIT */
/* The calls of the time library (sim/time/page.h). */
#ifndef KFDSHIM_SIM_HOST_TIME_CALLS_H
#define KFDSHIM_SIM_HOST_TIME_CALLS_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

struct world;

/* Serves @n if it is one of them. */
bool time_serve(struct world *world, const struct seccomp_notif *n);

/* Answers @n with a result or a negative errno. False: the caller was interrupted by a signal, and
 * calls again. */
bool time_answer(const struct world *world, const struct seccomp_notif *n, int64_t result);
/* A number for a descriptor of the library in the caller of @n, out of the program's way: @lost,
 * if the caller has an event descriptor or nothing there (-1: none was lost), else the highest
 * that is free. 0: none was found. */
int time_place(const struct seccomp_notif *n, int lost);
/* Gives @fd, which stays the supervisor's, to the caller of @n as the descriptor @place (0: the
 * lowest that is free); @flags: O_CLOEXEC or 0. Returns the caller's, or a negative errno. */
int time_give(const struct world *world, const struct seccomp_notif *n, int fd, int place,
	      uint32_t flags);

#endif
