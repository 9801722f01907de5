/* SPDX-License-Identifier: MIT */
/*
 * The calls of the time library to the supervisor (sim/host/time/page.h), and helpers for them. The
 * caller of a call is identified by its seccomp notification @n.
 *
 * Threads: the one that serves the notifications.
 */
#ifndef KFDSHIM_SIM_HOST_TIME_CALLS_H
#define KFDSHIM_SIM_HOST_TIME_CALLS_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

struct sim;

/* Serves and answers @n if it is such a call. Returns false if it is not. */
bool time_serve(struct sim *sim, const struct seccomp_notif *n);

/* Answers @n with a result or a negative errno. Returns false if a signal has interrupted the
 * caller, which then repeats the call. */
bool time_reply(const struct sim *sim, const struct seccomp_notif *n, int64_t result);
/* Chooses a number for a file descriptor that the library gets in the process of the caller, out of
 * the way of the program's own: @lost if the caller has an eventfd or nothing at that number (-1:
 * there is no such number), otherwise the highest free number. Returns 0 if none was found. */
int time_address(const struct seccomp_notif *n, int lost);
/* Installs the supervisor's @fd in the caller's process with the number @address (0: the lowest free
 * number); the supervisor keeps its own. @flags: O_CLOEXEC or 0. Returns the caller's file
 * descriptor or a negative errno. */
int time_give(const struct sim *sim, const struct seccomp_notif *n, int fd, int address,
	      uint32_t flags);

#endif
