/* SPDX-License-Identifier: MIT */
/*
 * Timers of a virtual world: the arguments of TIME_IOC_TIMER (page.h).
 *
 * The supervisor keeps all timers and fires them. A program's timer descriptor is an event
 * descriptor, which returns the same 8-byte count when it is read, so that fork, dup and the
 * passing of descriptors need no work in the process.
 *
 * The call is ioctl(-1, TIME_IOC_TIMER, what, number, value, value): a call that the kernel
 * would refuse, and that reaches the supervisor with all of its arguments. Times are nanoseconds.
 */
#ifndef KFDSHIM_SIM_TIME_TIMER_CALL_H
#define KFDSHIM_SIM_TIME_TIMER_CALL_H

#include <stdint.h>

enum time_op {
	/* Makes a timer of the kind in TIME_WHAT_KIND. The number is the thread that a
	 * TIME_KIND_THREAD signals, the values are the offset of the timer's clock from
	 * CLOCK_MONOTONIC and sigev_value. Returns the timer's number << 32 | its descriptor. */
	TIME_OP_MAKE,
	/* Arms the timer: it expires at the first value (0: never), and again after each second
	 * value (0: once). The first counts from now or, with TIME_WHAT_ABSOLUTE, is a time of
	 * the timer's clock. Returns what was left until then (0: it was not armed). */
	TIME_OP_SET,
	TIME_OP_LEFT,	  /* returns what is left */
	TIME_OP_INTERVAL, /* returns the interval */
	TIME_OP_OVERRUN,  /* returns the number of expirations without a signal of their own */
	TIME_OP_DELETE,
	TIME_OP_EXEC, /* deletes the timers that a program does not inherit by execve() */
};

/* What the number names. */
enum time_space {
	TIME_SPACE_FD,	 /* a descriptor of the caller */
	TIME_SPACE_ID,	 /* a timer of the caller's process, as TIME_OP_MAKE returned it */
	TIME_SPACE_REAL, /* ITIMER_REAL of the caller's process, which exists once it is set */
};

enum time_kind {
	TIME_KIND_FD,	   /* timerfd_create() */
	TIME_KIND_SIGNAL,  /* a signal to the process */
	TIME_KIND_THREAD,  /* a signal to one thread of it */
	TIME_KIND_NOTHING, /* SIGEV_NONE */
	TIME_KIND_HELPER,  /* an event descriptor for a thread of the time library */
	TIME_KIND_REAL,	   /* ITIMER_REAL */
};

/* @what: operation and space; the kind, the number of the signal and flags of
 * timerfd_create() if a timer is made. */
#define TIME_WHAT(op, space) ((uint64_t)(op) | (uint64_t)(space) << 8)
#define TIME_WHAT_KIND(kind, signal, flags)                                                        \
	((uint64_t)(kind) << 16 | (uint64_t)(signal) << 24 | (uint64_t)(uint32_t)(flags) << 32)
#define TIME_WHAT_ABSOLUTE (1ull << 16)

/* A helper's descriptor counts at least this many expirations after its timer was deleted. */
#define TIME_HELPER_ENDS (1ull << 63)

#endif
