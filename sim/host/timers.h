/* SPDX-License-Identifier: MIT */
/*
 * The timers of a world in virtual time: timer descriptors, ITIMER_REAL and POSIX timers.
 *
 * A timer expires when the loop (virtual.h) fires it: an event descriptor counts, or a signal is
 * sent. It belongs to a process and ends with it. A timer descriptor also lives on in the
 * processes that have inherited or received it, and ends when none has it any more, which is
 * noticed late: when it has expired some times without being read, or when there are many.
 *
 * A signal's siginfo is that of SI_TIMER, also for ITIMER_REAL, because the kernel allows no
 * process to send SI_KERNEL. While a POSIX timer's signal is pending no second one is sent: the
 * expirations are counted as overrun, as Linux does it.
 *
 * Numbers of processes and threads are those of the caller's PID namespace. One thread.
 */
#ifndef KFDSHIM_SIM_HOST_TIMERS_H
#define KFDSHIM_SIM_HOST_TIMERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sim/time/timer_call.h"

struct time_page;
struct timers;

struct timer_new {
	enum time_kind kind;
	pid_t pid;	   /* the process that it belongs to */
	pid_t tid;	   /* TIME_KIND_THREAD: the thread that is signalled */
	int signal, flags; /* @flags: of timerfd_create() */
	int64_t offset_ns; /* its clock minus CLOCK_MONOTONIC */
	uint64_t value;	   /* sigev_value */
};

/* @page stays the caller's and must outlive the timers. 0 or -ENOMEM. */
int timers_open(struct time_page *page, struct timers **out);
void timers_close(struct timers *timers);

/* When the first timer expires (ns of CLOCK_MONOTONIC); UINT64_MAX: none is armed. */
uint64_t timers_first(const struct timers *timers);
/* Fires the first timer that has expired by now. False: none has. */
bool timers_fire(struct timers *timers);
/* A thread has ended; if it was the last of its process, so do its timers. */
void timers_end(struct timers *timers, pid_t tid);

/* Returns the timer's number; -ENOMEM, or why there is no descriptor of the process or event. */
int timers_make(struct timers *timers, const struct timer_new *new);
void timers_delete(struct timers *timers, int number);
/* The timers that @pid does not keep over execve(). */
void timers_exec(struct timers *timers, pid_t pid);

/* The caller's event descriptor of the timer, which stays this module's; -1: it has none. */
int timers_event(const struct timers *timers, int number);
/* The timer descriptor that is this event descriptor (event_files.h); -ENOENT. */
int timers_by_event(const struct timers *timers, int event_number);
/* ITIMER_REAL of a process; -ENOENT. */
int timers_real(const struct timers *timers, pid_t pid);
/* Is it a POSIX timer of this process? */
bool timers_belongs(const struct timers *timers, int number, pid_t pid);

/* TIME_OP_SET, and what it returns. */
int64_t timers_set(struct timers *timers, int number, bool absolute, uint64_t value_ns,
		   uint64_t interval_ns);
int64_t timers_left(const struct timers *timers, int number);
int64_t timers_interval(const struct timers *timers, int number);
int64_t timers_overrun(const struct timers *timers, int number);

#endif
