/* SPDX-License-Identifier: MIT */
/*
 * Inside the time library: the page, the calling thread's slot, and raw system calls.
 *
 * The library is a guest in every process of the world: it allocates no memory, opens no file
 * after its start, and leaves signals, masks and errno of the program alone. Where there is no
 * page (a process that sees another /run), each function is the C library's.
 */
#ifndef KFDSHIM_SIM_TIME_LIBRARY_H
#define KFDSHIM_SIM_TIME_LIBRARY_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "sim/time/page.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449 /* Linux 5.16; system headers may lack it */
#endif

#define EXPORT __attribute__((visibility("default")))
#define NS_PER_S 1000000000ull
#define NEVER UINT64_MAX
#define FAR_S (100ll * 365 * 86400) /* no clock gets there: as good as never */

/* NULL: this process has no virtual time. */
struct time_page *time_page(void);

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

/* As the C library returns it: -1 and errno, or the result. */
static inline long returned(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

/* NEVER, if it is too long. */
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

/* The world's CLOCK_MONOTONIC; only if there is a page. */
static inline uint64_t now_ns(void)
{
	return atomic_load_explicit(&time_page()->now_ns, memory_order_acquire);
}

/* A clock by which a thread can sleep, or a timer run, in virtual time. */
bool clock_can_wake(clockid_t clock);
/* CLOCK_MONOTONIC minus what @clock shows is -clock_offset(clock). */
uint64_t clock_offset(clockid_t clock);
/* An absolute time of @clock as one of CLOCK_MONOTONIC; 0 if it is over, NEVER if it is far. */
uint64_t deadline_of(clockid_t clock, const struct timespec *at);
/* now + ns, or NEVER. */
uint64_t deadline_after(uint64_t ns);

/* A wait of the calling thread, and the one that it was in: a signal handler may wait, too. */
struct waiting {
	struct time_slot *slot;
	uint64_t deadline_ns, effects;
	uint32_t due, wait;
};

/* Announces that the calling thread waits for @deadline_ns. Each wait_begin() needs a
 * wait_end(). False: no slot; the caller must not sleep without a time-out. */
bool wait_begin(struct waiting *waiting, uint64_t deadline_ns, enum time_wait wait);
void wait_end(const struct waiting *waiting);
bool wait_is_due(const struct waiting *waiting);
/* raw(), in which a cancellation ends the thread. */
long raw_cancellable(long nr, long a, long b, long c, long d, long e, long f);
/* The calling thread's event descriptor, or -1. @lost: the one it had is not usable. */
int wait_event(int lost);

/* When a thread that sleeps until @deadline_ns runs again: the wake is charged. */
static inline uint64_t wakes_at(uint64_t deadline_ns)
{
	uint64_t cost = time_page()->wake_ns;

	return deadline_ns < NEVER - cost ? deadline_ns + cost : deadline_ns;
}
/* Charges the calling thread: it does nothing for so long. */
void charge(uint64_t cost_ns);
/* The same for a wake by something else than time. */
void charge_wake(void);

/* Sleeps until @deadline_ns, and a wake longer unless it spins. 0, or -EINTR if a signal handler
 * has run. A cancellation point, unless it spins. */
int sleep_until(uint64_t deadline_ns, enum time_wait wait);

/* For a loop that tries something again and again until @until_ns: sleeps for *@pause_ns, and makes
 * the next pause twice as long while it is below @most_ns. Returns as sleep_until(). */
int sleep_pause(uint64_t *pause_ns, uint64_t most_ns, uint64_t until_ns, enum time_wait wait);

/* The pause of a thread that spins, twice as long as its last one (0: there was none). */
static inline uint64_t spin_step(uint64_t last_ns, uint64_t least_ns, uint64_t most_ns)
{
	uint64_t step = last_ns ? 2 * last_ns : least_ns;

	return step < most_ns ? step : most_ns;
}

/* futex(2): waits at @word while it is @value, until @deadline_ns (NEVER: for ever).
 * 0, -EAGAIN, -EINTR or -ETIMEDOUT. @shared: the word is used by several processes. */
int futex_until(uint32_t *word, uint32_t value, bool shared, uint64_t deadline_ns);

/* struct futex_waitv of Linux 5.16; system headers may lack it. */
struct futex_word {
	uint64_t value, address;
	uint32_t flags, reserved;
};
#define FUTEX_WORDS_MAX 128u

/* futex_waitv(2): the same at @n words, fewer than FUTEX_WORDS_MAX. Returns the index of a word at
 * which the thread was woken, or a negative errno. */
long futexes_until(const struct futex_word *words, unsigned n, uint64_t deadline_ns);

/* ppoll(2) until @until (ns of CLOCK_MONOTONIC): the number of ready descriptors, 0 when the time
 * is over, or a negative errno. @fds: of type struct pollfd. @mask may be NULL. */
struct pollfd;
long poll_until(struct pollfd *fds, unsigned long n, uint64_t until, const sigset_t *mask);

/* Counts a look at the clock, which is @weight looks; a thread that looks again and again
 * while no time passes sleeps until the next event. */
void clock_looked(unsigned weight);
/* The calling thread has waited as a thread should: it does not spin. */
void clock_waited(void);

#endif
