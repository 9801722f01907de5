// SPDX-License-Identifier: MIT
/*
 * Clocks. A thread that reads a clock again and again while no time passes would wait forever,
 * because the clock stands still as long as the thread runs. After SPIN_READS readings it therefore
 * sleeps for a time that grows from STEP_MIN_NS to STEP_MAX_NS, or until a GPU has written to
 * memory.
 *
 * CLOCK_MONOTONIC_RAW advances while it is read, RAW_SPEED times as fast as the host's time. The
 * HSA runtime uses it for 1 ms to measure the processor's time stamp counter. From then on it spins
 * for 200 us of that counter before each wait that blocks, and measures time-outs by it. The
 * counter is not virtual, so these spins take real time in which virtual time stands still. The
 * faster the counter seems to be, the shorter these spins are, and the sooner a time-out is over
 * (hsa.c). RAW_SPEED is large, so that the counter does not seem slow even if the host takes the
 * core away during the measurement.
 */
#include <stddef.h>
#include <sys/time.h>

#include "sim/host/time/library.h"

/* After so many readings in a row without passing time, a thread counts as spinning. */
#define SPIN_READS 10000u
#define SPIN_AGAIN 200u /* readings until a thread that was spinning counts as spinning again */
/* Weight of a sched_yield(), in readings. */
#define YIELD_READS 10u
#define STEP_MIN_NS 10000u
#define STEP_MAX_NS 100000u
#define RAW_READS 100u /* readings after which the raw clock advances while it is read */
#define RAW_SPEED 1000u

/* State of the calling thread: the time that it read last, the weight of its readings since time
 * passed, and its last pause. */
static __thread struct {
	uint64_t seen_ns;
	unsigned reads;
	uint64_t step_ns;
} spin __attribute__((tls_model("initial-exec")));

void clock_read(unsigned weight)
{
	uint64_t now = now_ns();

	/* If time passes between two readings, this thread does not stop the clock, so the count
	 * starts again. That does not hold if the time passed in a pause of this thread (step_ns is
	 * not 0). */
	if (now != spin.seen_ns && !spin.step_ns)
		spin.reads = 0;
	spin.seen_ns = now;
	spin.reads += weight;
	if (spin.reads < SPIN_READS)
		return;
	spin.step_ns = spin_step(spin.step_ns, STEP_MIN_NS, STEP_MAX_NS);
	sleep_until(now + spin.step_ns, TIME_WAIT_SPIN);
	spin.reads = SPIN_READS - SPIN_AGAIN;
	spin.seen_ns = now_ns();
}

void clock_waited(void)
{
	spin.reads = 0;
	spin.step_ns = 0;
}

uint64_t clock_offset(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_TAI:
		return time_page()->realtime_ns;
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		return time_page()->boottime_ns;
	default:
		return 0;
	}
}

bool clock_can_wake(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_MONOTONIC:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
	case CLOCK_TAI:
		return true;
	default:
		return false;
	}
}

uint64_t deadline_of(clockid_t clock, const struct timespec *at)
{
	uint64_t offset = clock_offset(clock), ns;

	if (at->tv_sec < 0)
		return 0;
	ns = to_ns(at);
	if (ns == NEVER)
		return NEVER;
	return ns > offset ? ns - offset : 0;
}

/* Returns CLOCK_MONOTONIC_RAW of the host, ns. */
static uint64_t machine_ns(void)
{
	struct timespec t;

	raw(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, (long)&t, 0, 0, 0, 0);
	return to_ns(&t);
}

/* Returns CLOCK_MONOTONIC_RAW, ns. The clock is ahead of CLOCK_MONOTONIC; the lead grows while a
 * thread of this process reads the clock and no time passes. */
static uint64_t raw_now_ns(void)
{
	static _Atomic uint64_t ahead_ns;
	static __thread struct {
		uint64_t seen_ns, machine_ns;
		unsigned reads;
	} raw_spin __attribute__((tls_model("initial-exec")));
	uint64_t now = now_ns(), machine;

	if (now != raw_spin.seen_ns || !raw_spin.reads) {
		raw_spin.reads = 0;
		raw_spin.machine_ns = machine_ns();
	}
	raw_spin.seen_ns = now;
	if (++raw_spin.reads > RAW_READS) {
		machine = machine_ns();
		atomic_fetch_add(&ahead_ns, RAW_SPEED * (machine - raw_spin.machine_ns));
		raw_spin.machine_ns = machine;
	}
	return now + atomic_load(&ahead_ns);
}

/* Returns false for clocks of CPU time, which stay those of the host. */
static bool is_virtual(clockid_t clock)
{
	return clock >= 0 && clock != CLOCK_PROCESS_CPUTIME_ID &&
	       clock != CLOCK_THREAD_CPUTIME_ID && clock <= CLOCK_TAI;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (!time_page() || !is_virtual(clock))
		return (int)returned(raw(SYS_clock_gettime, clock, (long)t, 0, 0, 0, 0));
	if (clock == CLOCK_MONOTONIC_RAW) {
		*t = to_timespec(raw_now_ns());
		return 0;
	}
	clock_read(1);
	*t = to_timespec(now_ns() + clock_offset(clock));
	return 0;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	if (zone)
		*(struct timezone *)zone = (struct timezone){0};
	clock_gettime(CLOCK_REALTIME, &now);
	*t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
	return 0;
}

EXPORT time_t time(time_t *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}

EXPORT int timespec_get(struct timespec *t, int base)
{
	if (base != TIME_UTC)
		return 0;
	clock_gettime(CLOCK_REALTIME, t);
	return base;
}

EXPORT int sched_yield(void)
{
	if (time_page())
		clock_read(YIELD_READS);
	return (int)returned(raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0));
}

/* ---- sleeps ----
 * Sleeps: waits for nothing but time. */

/* Sleeps for @ns. Returns 0, or -EINTR with the time that is left in *left. */
static int sleep_for(uint64_t ns, struct timespec *left)
{
	uint64_t until = deadline_after(ns), now;
	int r = sleep_until(until, TIME_WAIT_FUTEX);

	if (!r || !left)
		return r;
	now = now_ns();
	*left = to_timespec(until > now ? until - now : 0);
	return r;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
			   struct timespec *left)
{
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return EINVAL;
	/* The kernel serves all other clocks: it refuses them, or they count the host's CPU
	 * time. */
	if (!time_page() || !clock_can_wake(clock))
		return (int)-raw_cancellable(SYS_clock_nanosleep, clock, flags, (long)t, (long)left,
					     0, 0);
	if (!is_valid(t))
		return EINVAL;
	if (flags & TIMER_ABSTIME)
		return -sleep_until(deadline_of(clock, t), TIME_WAIT_FUTEX);
	return -sleep_for(to_ns(t), left);
}

EXPORT int nanosleep(const struct timespec *t, struct timespec *left)
{
	int r = clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);

	if (!r)
		return 0;
	errno = r;
	return -1;
}

EXPORT int usleep(useconds_t us)
{
	struct timespec t = to_timespec(us * 1000ull);

	return nanosleep(&t, NULL);
}

EXPORT unsigned sleep(unsigned seconds)
{
	struct timespec t = {(time_t)seconds, 0}, left = {0};
	int saved = errno;

	if (nanosleep(&t, &left)) {
		errno = saved;
		return (unsigned)left.tv_sec + (left.tv_nsec >= (long)(NS_PER_S / 2));
	}
	return 0;
}

/* Sleeps as C11 requires: returns -1 after a signal, and another negative value for an error. */
EXPORT int thrd_sleep(const struct timespec *t, struct timespec *left)
{
	int r = clock_nanosleep(CLOCK_REALTIME, 0, t, left);

	return r == EINTR ? -1 : -2 * (r != 0);
}
