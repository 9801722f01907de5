/* SPDX-License-Identifier: MIT */
/*
 * The timers of a simulation in virtual time: timerfds, ITIMER_REAL and POSIX timers.
 *
 * A timer expires when the main loop (virtual.c) fires it: its eventfd counts, or a signal is sent.
 * A timer belongs to a process and ends with it. A timerfd also lives on in the processes that have
 * inherited or received it, and ends when no process has it any more. This is detected late: when
 * the timerfd has expired several times without being read, or when there are many timerfds.
 *
 * The siginfo of a signal is that of SI_TIMER, also for ITIMER_REAL, because the kernel does not
 * allow any process to send SI_KERNEL. While the signal of a POSIX timer is pending, no second one
 * is sent: the expirations are counted as overrun, as Linux does.
 *
 * Process and thread ids are those of the caller's PID namespace. All times are ns of the
 * simulation's CLOCK_MONOTONIC unless noted.
 * Threads: one at a time.
 */
#ifndef KFDSHIM_SIM_HOST_TIMERS_H
#define KFDSHIM_SIM_HOST_TIMERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "sim/host/time/page.h"

struct time_page;
struct timers;

struct timer_new {
	enum time_kind kind;
	pid_t pid;	   /* owner */
	pid_t tid;	   /* TIME_KIND_THREAD: the thread that gets the signal */
	int signal, flags; /* @flags: those of timerfd_create() */
	int64_t offset_ns; /* the timer's clock minus CLOCK_MONOTONIC */
	uint64_t value;	   /* sigev_value */
};

/* Creates the set of timers. @page stays the caller's and must outlive it. Returns 0 or -ENOMEM.
 * Release with timers_close(). */
int timers_open(struct time_page *page, struct timers **out);
void timers_close(struct timers *timers);

/* Returns the time at which the first timer expires; UINT64_MAX if none is armed. */
uint64_t timers_first(const struct timers *timers);
/* Fires the first timer that has expired by now. Returns false if none has. */
bool timers_fire(struct timers *timers);
/* Deletes the timers of the process with the id @tid. Must be called for each thread that has
 * ended; the id of a process is that of its first thread, and is in use until its last thread has
 * ended. */
void timers_end(struct timers *timers, pid_t tid);

/* Creates a timer, which is not armed. Returns its number, -ENOMEM, or the error of opening the
 * pidfd or eventfd. */
int timers_make(struct timers *timers, const struct timer_new *new);
/* Deletes a timer. If it is a TIME_KIND_HELPER, its eventfd first gets the count TIME_HELPER_ENDS,
 * which ends the helper thread. */
void timers_delete(struct timers *timers, int number);
/* Deletes the timers that @pid does not keep across execve(). */
void timers_exec(struct timers *timers, pid_t pid);

/* Returns the supervisor's file descriptor of the timer's eventfd, which the caller must not close;
 * -1 if it has none. */
int timers_event(const struct timers *timers, int number);
/* Returns the timerfd with this eventfd number (event_number()), or -ENOENT. */
int timers_by_event(const struct timers *timers, int event_number);
/* Returns the kernel's number of the eventfd that the process or thread @pid has as @fd, or a
 * negative errno: -ENOENT if @fd is something else. The kernel numbers all open eventfds
 * (`eventfd-id` in fdinfo, Linux 5.2). A number identifies one eventfd as long as the caller has
 * that eventfd open. */
int event_number(pid_t pid, int fd);
/* Returns the ITIMER_REAL of a process, or -ENOENT. */
int timers_real(const struct timers *timers, pid_t pid);
/* Returns true if @number is a POSIX timer of this process. */
bool timers_belongs(const struct timers *timers, int number, pid_t pid);

/* TIME_OP_SET: arms the timer. It expires value_ns from now, or with `absolute` at value_ns of the
 * timer's own clock, and then every interval_ns (0: only once). value_ns 0 disarms the timer.
 * Returns what timers_left() returned before the call. */
int64_t timers_set(struct timers *timers, int number, bool absolute, uint64_t value_ns,
		   uint64_t interval_ns);
/* Returns the ns until the next expiration: 0 if the timer is not armed, at least 1 if it is armed
 * and has a signal or an eventfd. */
int64_t timers_left(const struct timers *timers, int number);
/* Returns the interval in ns; 0 if the timer expires once. */
int64_t timers_interval(const struct timers *timers, int number);
/* Returns the number of expirations that got no signal of their own, at most DELAYTIMER_MAX. */
int64_t timers_overrun(const struct timers *timers, int number);

#endif
