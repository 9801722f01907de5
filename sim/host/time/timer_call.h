/* SPDX-License-Identifier: MIT */
/*
 * Arguments of TIME_IOC_TIMER (page.h): timers of a simulation in virtual time.
 *
 * The supervisor keeps all timers and fires them. The program's timer file descriptor is an
 * eventfd, which returns the same 8-byte count when it is read. So fork(), dup() and passing it to
 * another process need no work in the process.
 *
 * The call is ioctl(-1, TIME_IOC_TIMER, what, number, value, value). The kernel itself would refuse
 * it, and it reaches the supervisor with all of its arguments. Times are nanoseconds.
 */
#ifndef KFDSHIM_SIM_HOST_TIME_TIMER_CALL_H
#define KFDSHIM_SIM_HOST_TIME_TIMER_CALL_H

#include <stdint.h>

enum time_op {
	/* Makes a timer of the kind in TIME_WHAT_KIND. The number is the thread that a
	 * TIME_KIND_THREAD signals; the values are the offset of the timer's clock from
	 * CLOCK_MONOTONIC, and sigev_value. Returns the timer's number << 32 | its file
	 * descriptor. */
	TIME_OP_MAKE,
	/* Arms the timer: it expires at the first value (0: never), and again after each second
	 * value (0: once). The first value counts from now; with TIME_WHAT_ABSOLUTE it is a time
	 * of the timer's clock. Returns the time that was left before the call (0: it was not
	 * armed). */
	TIME_OP_SET,
	TIME_OP_LEFT,	  /* returns the time until the next expiration */
	TIME_OP_INTERVAL, /* returns the interval */
	TIME_OP_OVERRUN,  /* returns the number of expirations without a signal of their own */
	TIME_OP_DELETE,
	TIME_OP_EXEC, /* deletes the timers that a program does not inherit by execve() */
};

/* What the number identifies. */
enum time_space {
	TIME_SPACE_FD, /* a file descriptor of the caller */
	TIME_SPACE_ID, /* a timer of the caller's process, as TIME_OP_MAKE returned it */
	/* ITIMER_REAL of the caller's process, which exists once it is set. */
	TIME_SPACE_REAL,
};

enum time_kind {
	TIME_KIND_FD,	   /* timerfd_create() */
	TIME_KIND_SIGNAL,  /* a signal to the process */
	TIME_KIND_THREAD,  /* a signal to one thread of it */
	TIME_KIND_NOTHING, /* SIGEV_NONE */
	TIME_KIND_HELPER,  /* an eventfd for a thread of the time library */
	TIME_KIND_REAL,	   /* ITIMER_REAL */
};

/* Composes @what: operation and space; when a timer is made, also its kind, the number of the
 * signal and the flags of timerfd_create(). */
#define TIME_WHAT(op, space) ((uint64_t)(op) | (uint64_t)(space) << 8)
#define TIME_WHAT_KIND(kind, signal, flags)                                                        \
	((uint64_t)(kind) << 16 | (uint64_t)(signal) << 24 | (uint64_t)(uint32_t)(flags) << 32)
#define TIME_WHAT_ABSOLUTE (1ull << 16)

/* After its timer was deleted, the eventfd of a TIME_KIND_HELPER counts at least this many
 * expirations. */
#define TIME_HELPER_ENDS (1ull << 63)

#endif
