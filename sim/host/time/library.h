/* SPDX-License-Identifier: MIT */
/*
 * Internal interface of the time library (libkfdsim-time.so): the shared page, the slot of the
 * calling thread, raw system calls, and waits in virtual time.
 *
 * The library is loaded into every process of the simulation. It allocates no memory (except for a
 * poll of more than 64 file descriptors, and for the helper threads of timers), opens no file after
 * its start, and does not change the program's signals, signal masks or errno. In a process without
 * the page (it sees another /run) each function behaves as the C library's.
 *
 * Threads: any. Unless noted otherwise a function returns 0 or a result, or a negative errno, and
 * needs the page.
 */
#ifndef KFDSHIM_SIM_HOST_TIME_LIBRARY_H
#define KFDSHIM_SIM_HOST_TIME_LIBRARY_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "sim/host/time/page.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* Linux 5.16; system headers may lack it */
#endif

#define EXPORT __attribute__((visibility("default")))
/* Defines a function of the C library whose result is one expression. */
#define EXPORT_AS(type, name, parameters, result)                                                  \
	EXPORT type name parameters                                                                \
	{                                                                                          \
		return result;                                                                     \
	}
#define NS_PER_S 1000000000ull
#define NEVER UINT64_MAX
#define FAR_S (100ll * 365 * 86400) /* no clock gets that far, so longer times count as NEVER */

/* Returns the shared page, mapped at the first call; NULL: this process has no virtual time. */
struct time_page *time_page(void);

/* Makes a system call by number, without libc. Returns the kernel's result, which is a negative
 * errno on failure. x86-64 only. */
static inline long raw(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Converts a result of raw() to the C library's form: the result, or -1 with errno. */
static inline long returned(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

/* Converts an error number to a result of threads.h. */
static inline int thrd_result(int error)
{
	return error == ETIMEDOUT ? thrd_timedout : error ? thrd_error : thrd_success;
}

/* Converts a time to ns; NEVER if it is FAR_S seconds or longer. @t must be valid (is_valid()). */
static inline uint64_t to_ns(const struct timespec *t)
{
	if (t->tv_sec >= FAR_S)
		return NEVER;
	return (uint64_t)t->tv_sec * NS_PER_S + (uint64_t)t->tv_nsec;
}

static inline struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
}

static inline bool is_valid(const struct timespec *t)
{
	return t->tv_sec >= 0 && t->tv_nsec >= 0 && t->tv_nsec < (long)NS_PER_S;
}

/* Returns CLOCK_MONOTONIC of the simulation, ns. The page must exist. */
static inline uint64_t now_ns(void)
{
	return atomic_load_explicit(&time_page()->now_ns, memory_order_acquire);
}

/* Returns true if threads can sleep and timers can run by this clock in virtual time. */
bool clock_can_wake(clockid_t clock);
/* Returns the value of @clock minus CLOCK_MONOTONIC, ns. 0 for clocks that are not virtual. */
uint64_t clock_offset(clockid_t clock);
/* Converts an absolute time of @clock to CLOCK_MONOTONIC, ns. Returns 0 if the time is over, NEVER
 * if it is too far away. */
uint64_t deadline_of(clockid_t clock, const struct timespec *at);
/* Returns the current time plus @ns, or NEVER if that is too far away. */
uint64_t deadline_after(uint64_t ns);

/* State of a wait of the calling thread. It saves the content of the thread's slot, because a
 * signal handler may begin a wait while the thread is in one. */
struct waiting {
	/* The slot, and what it held before wait_begin(). */
	struct time_slot *slot;
	uint64_t deadline_ns, effects;
	uint32_t due, wait;
};

/* Announces to the supervisor that the calling thread waits until @deadline_ns. Each wait_begin()
 * that returns true needs a wait_end() with the same *waiting.
 * Returns false if the thread has no slot; the caller must not sleep without a time-out then. */
bool wait_begin(struct waiting *waiting, uint64_t deadline_ns, enum time_wait wait);
/* Ends a wait, and restores what the slot held before it. */
void wait_end(const struct waiting *waiting);
/* Returns true if the supervisor has ended the wait. */
bool wait_is_due(const struct waiting *waiting);
/* Makes a system call as raw() does, and is a cancellation point. */
long raw_cancellable(long nr, long a, long b, long c, long d, long e, long f);
/* Returns the event file descriptor of the calling thread, which becomes readable when its wait is
 * due, or -1. @lost: the thread's earlier file descriptor if it turned out to be unusable and is to
 * be replaced; otherwise -1. */
int wait_event(int lost);

/* Returns the time at which a thread that sleeps until @deadline_ns runs again: the deadline plus
 * the cost of a wake. */
static inline uint64_t wakes_at(uint64_t deadline_ns)
{
	uint64_t cost = time_page()->wake_ns;

	return deadline_ns < NEVER - cost ? deadline_ns + cost : deadline_ns;
}
/* Charges @cost_ns of virtual time to the calling thread: it does nothing for that time. */
void charge(uint64_t cost_ns);
/* Charges the calling thread the cost of a wake-up (page->wake_ns), after a wait that something
 * other than time has ended. */
void charge_wake(void);

/* Sleeps until @deadline_ns and, unless @wait is TIME_WAIT_SPIN, for the cost of a wake. Is a
 * cancellation point, except with TIME_WAIT_SPIN. Returns 0, or -EINTR if a signal handler has
 * run. */
int sleep_until(uint64_t deadline_ns, enum time_wait wait);

/* Pauses in a loop that tries something again and again until @until_ns: sleeps for *@pause_ns, and
 * doubles it for the next call while it is below @most_ns. Returns as sleep_until(). */
int sleep_pause(uint64_t *pause_ns, uint64_t most_ns, uint64_t until_ns, enum time_wait wait);

/* Returns the next pause of a thread that spins: @least_ns at first (@last_ns is 0), then twice
 * @last_ns, at most @most_ns. */
static inline uint64_t spin_step(uint64_t last_ns, uint64_t least_ns, uint64_t most_ns)
{
	uint64_t step = last_ns ? 2 * last_ns : least_ns;

	return step < most_ns ? step : most_ns;
}

/* Waits as futex(2), in virtual time, while *@word is @value, until @deadline_ns (may be NEVER).
 * @shared: the word is used by several processes. Returns 0, -EAGAIN, -EINTR or -ETIMEDOUT. */
int futex_until(uint32_t *word, uint32_t value, bool shared, uint64_t deadline_ns);

/* struct futex_waitv of Linux 5.16; system headers may lack it. */
struct futex_word {
	uint64_t value, address;
	uint32_t flags, reserved;
};
#define FUTEX_WORDS_MAX 128u

/* Waits as futex_waitv(2), in virtual time, on @n words, fewer than FUTEX_WORDS_MAX. Returns the
 * index of a word at which the thread was woken, or a negative errno. */
long futexes_until(const struct futex_word *words, unsigned n, uint64_t deadline_ns);

/* Waits as ppoll(2), until @until (CLOCK_MONOTONIC, ns) in virtual time. @fds is an array of struct
 * pollfd; @mask may be NULL. Returns the number of ready fds, 0 at @until, or a negative errno. */
struct pollfd;
long poll_until(struct pollfd *fds, unsigned long n, uint64_t until, const sigset_t *mask);

/* Counts a reading of the clock with weight @weight. A thread that reads the clock again and again
 * while no time passes would stop the simulation, so it sleeps until the next event (clocks.c). */
void clock_read(unsigned weight);
/* Resets the count of clock_read(), because the calling thread has slept in a regular wait. */
void clock_waited(void);

/* ---- the C library's own functions, for calls that are not in virtual time ---- */
/* One pointer for each function of next.def, with that function's type. */
struct next_calls {
#define NEXT(name) __typeof__(&(name)) name;
#include "sim/host/time/next.def"
#undef NEXT
};

/* Returns the table of these functions. The table is filled when the library starts, or earlier if
 * a constructor of another library calls one of the replaced functions. It is never filled later,
 * because dlsym() must not run in a signal handler. Any thread may call this. */
const struct next_calls *next(void);

#endif
