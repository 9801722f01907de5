/* SPDX-License-Identifier: MIT */
/*
 * Contract between the supervisor of a simulation in virtual time (sim/host) and the time library
 * (libkfdsim-time.so), which every dynamically linked process of that simulation loads.
 *
 * The page is one file that all of them map. The supervisor writes the clock. A thread that waits
 * for time writes its deadline into its own slot and then sleeps in the kernel without a time-out.
 * The clock moves only while no thread of the simulation can run, so everything that the supervisor
 * reads here at that moment is complete.
 *
 * A thread gets its slot and its event file descriptor from the supervisor by ioctl() numbers that
 * the seccomp filter of the simulation reports. The supervisor therefore identifies the thread by
 * its number in the supervisor's own PID namespace, whatever namespace the thread is in.
 *
 * Costs of the host are charged: a thread that is charged does nothing for that much virtual time.
 *
 * Times are nanoseconds of the simulation's CLOCK_MONOTONIC.
 */
#ifndef KFDSHIM_SIM_HOST_TIME_PAGE_H
#define KFDSHIM_SIM_HOST_TIME_PAGE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define TIME_DIR "/run/kfdsim-time" /* path inside the simulation */
#define TIME_PAGE TIME_DIR "/page"
#define TIME_LIBRARY TIME_DIR "/libkfdsim-time.so"

#define TIME_MAGIC 0x6b66642d74696d65ull
#define TIME_VERSION 1u
#define TIME_SLOTS 8192u

/* Returns the index of the caller's slot. */
#define TIME_IOC_SLOT _IO('K', 0xf0)
/* Returns a file descriptor that becomes readable when the caller's slot is due. The argument is a
 * file descriptor to replace, or -1. */
#define TIME_IOC_EVENT _IO('K', 0xf1)
/* Performs an operation on a timer (see below). */
#define TIME_IOC_TIMER _IO('K', 0xf2)

/* Signal numbers that F_SETSIG stores in event file descriptors and timers as marks.
 * fcntl(F_GETSIG) returns the mark, which distinguishes them from files of the program. They send
 * no signal. */
#define TIME_EVENT_SIGNAL 61
#define TIME_TIMER_SIGNAL 60

/* Sixth argument of the futex calls with a time-out that the library itself makes; futex(2) ignores
 * it. The library makes no other kind of call with a time-out, so a call without this mark is one
 * of the program. */
#define TIME_OWN_CALL 0x6b666474

enum time_wait {
	TIME_WAIT_FUTEX,  /* sleeps on the futex `due` */
	TIME_WAIT_EVENT,  /* polls the event file descriptor */
	TIME_WAIT_CHARGE, /* as TIME_WAIT_FUTEX, for a charge (a delay, not a program's wait) */
	TIME_WAIT_SPIN,	  /* as TIME_WAIT_FUTEX; also ends when a GPU has written to memory */
};

/* The slot of a thread. The thread writes it to begin and end a wait. The supervisor sets `due`,
 * and clears the slot when another thread gets it. */
struct time_slot {
	_Atomic uint64_t deadline_ns; /* end of the wait; 0: the thread does not wait for time */
	_Atomic uint32_t due;	      /* 1: the supervisor has ended the wait */
	_Atomic uint32_t wait;	      /* enum time_wait */
	uint64_t effects;	      /* value of page->effects when the wait began */
	uint64_t pad[5];	      /* fills a cache line */
};

struct time_page {
	uint64_t magic;
	uint32_t version, slots_n;
	_Atomic uint64_t now_ns;
	uint64_t realtime_ns;	  /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	uint64_t boottime_ns;	  /* CLOCK_BOOTTIME minus CLOCK_MONOTONIC */
	_Atomic uint64_t effects; /* number of GPU writes for which a program may poll */
	/* Costs of the host in ns that threads are charged (delayed by): wake_ns for a wake-up
	 * after a sleep, ioctl_ns for an ioctl of a GPU driver. */
	uint32_t wake_ns, ioctl_ns;
	uint32_t turns;		       /* 1: threads stay on their core (--seed) */
	_Atomic uint32_t socket_times; /* 1: a program has set a time-out of a socket */
	/* Number of POSIX timers, which end when their process executes a program. */
	_Atomic uint64_t posix_timers;
	struct time_slot slots[TIME_SLOTS];
};

/*
 * ---- timers: the arguments of TIME_IOC_TIMER ----
 * The supervisor keeps all timers and fires them. The program's timer file descriptor is an
 * eventfd, which returns the same 8-byte count when it is read. So fork(), dup() and passing it to
 * another process need no work in the process. The call is ioctl(-1, TIME_IOC_TIMER, what, number,
 * value, value). The kernel itself would refuse this call, but the seccomp filter passes it to the
 * supervisor with all of its arguments.
 */

enum time_op {
	/* Makes a timer of the kind in TIME_WHAT_KIND. The number is the thread that a
	 * TIME_KIND_THREAD signals. The first value is the offset of the timer's clock from
	 * CLOCK_MONOTONIC, the second one sigev_value. Returns the timer's number << 32 | its file
	 * descriptor. */
	TIME_OP_MAKE,
	/* Arms the timer: it expires at the time in the first value (0: never), and then with the
	 * second value as its period (0: once). The first value counts from now; with
	 * TIME_WHAT_ABSOLUTE it is a time of the timer's clock. Returns the time that was left
	 * before the call (0: it was not armed). */
	TIME_OP_SET,
	TIME_OP_LEFT,	  /* returns the time until the next expiration */
	TIME_OP_INTERVAL, /* returns the interval */
	TIME_OP_OVERRUN,  /* returns the number of expirations without a signal of their own */
	TIME_OP_DELETE,
	TIME_OP_EXEC, /* deletes the timers that a program does not inherit by execve() */
};

/* What the number in a TIME_IOC_TIMER call identifies. */
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

/* After its timer was deleted, the eventfd of a TIME_KIND_HELPER has at least this count, so that
 * its helper thread ends. */
#define TIME_HELPER_ENDS (1ull << 63)

#endif
