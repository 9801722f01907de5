/* SPDX-License-Identifier: MIT */
/*
 * The contract between the supervisor of a virtual world (sim/host) and the time library
 * (libkfdsim-time.so), which every dynamically linked process of that world loads.
 *
 * The page is one file, mapped by all of them. The supervisor writes the clock; a thread that
 * waits for time writes its deadline into its own slot and then sleeps in the kernel without a
 * time-out. The clock moves only while no thread of the world can run, so whatever the
 * supervisor reads here then is complete.
 *
 * A thread gets its slot and its event descriptor from the supervisor by ioctl numbers
 * that the world's seccomp filter reports: so the supervisor knows the thread by its own
 * number of it, whatever PID namespace the thread is in.
 *
 * Times are nanoseconds of the world's CLOCK_MONOTONIC.
 */
#ifndef KFDSHIM_SIM_TIME_PAGE_H
#define KFDSHIM_SIM_TIME_PAGE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define TIME_FOLDER "/run/kfdsim-time" /* as the world sees it */
#define TIME_PAGE TIME_FOLDER "/page"
#define TIME_LIBRARY TIME_FOLDER "/libkfdsim-time.so"

#define TIME_MAGIC 0x6b66642d74696d65ull
#define TIME_VERSION 1u
#define TIME_SLOTS 8192u

/* Returns the caller's slot. */
#define TIME_IOC_SLOT _IO('K', 0xf0)
/* Returns a descriptor that becomes readable when the caller's slot is due. The argument is a
 * descriptor to replace, or -1. */
#define TIME_IOC_EVENT _IO('K', 0xf1)
/* An operation on a timer (sim/time/timer_call.h). */
#define TIME_IOC_TIMER _IO('K', 0xf2)

/* By fcntl(F_GETSIG) these descriptors, and those of timers, are known from a program's: they send no
 * signal, but have the number of one. */
#define TIME_EVENT_SIGNAL 61
#define TIME_TIMER_SIGNAL 60

/* The sixth argument, which futex(2) ignores, of the library's own futex calls that have a time-out.
 * It has no call of another kind with one, so all others are a program's own. */
#define TIME_OWN_CALL 0x6b666474

enum time_wait {
	TIME_WAIT_FUTEX,  /* on `due` */
	TIME_WAIT_EVENT,  /* on the event descriptor */
	TIME_WAIT_CHARGE, /* as TIME_WAIT_FUTEX; the thread does not wait, it is charged */
	TIME_WAIT_SPIN,	  /* as TIME_WAIT_FUTEX; over, too, when a GPU has written to memory */
};

struct time_slot {
	_Atomic uint64_t deadline_ns; /* 0: the thread does not wait for time */
	_Atomic uint32_t due;	      /* 1: the supervisor has ended the wait */
	_Atomic uint32_t wait;	      /* enum time_wait */
	uint64_t effects;	      /* page->effects when the wait began */
	uint64_t pad[5];	      /* a cache line */
};

struct time_page {
	uint64_t magic;
	uint32_t version, slots_n;
	_Atomic uint64_t now_ns;
	uint64_t realtime_ns;	  /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	uint64_t boottime_ns;	  /* CLOCK_BOOTTIME minus CLOCK_MONOTONIC */
	_Atomic uint64_t effects; /* writes of the GPUs that a program may poll for */
	/* What the host costs, charged: a thread that has slept, a call of a GPU's driver. */
	uint32_t wake_ns, ioctl_ns;
	uint32_t turns;		       /* 1: threads stay on the core that they have (--seed) */
	_Atomic uint32_t socket_times; /* 1: a socket of the world has had a time-out */
	_Atomic uint64_t posix_timers; /* timers that end when their process executes a program */
	struct time_slot slots[TIME_SLOTS];
};

#endif
