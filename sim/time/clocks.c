// SPDX-License-Identifier: MIT
/*
 * The clocks. A thread that reads them again and again while no time passes would wait for
 * ever, because its own running keeps time still: after SPIN_LOOKS looks it sleeps for a
 * moment that grows from STEP_MIN_NS to STEP_MAX_NS, or until a GPU has written to memory.
 *
 * CLOCK_MONOTONIC_RAW goes on by itself while it is read, RAW_SPEED times as fast as this machine's
 * time. The HSA runtime measures the processor's time stamp counter with it, for 1 ms, and from then
 * on spins for 200 us of that counter before each wait that blocks, and measures time-outs by it. The
 * counter is not virtual, so these spins are real time in which virtual time stands still: the faster
 * the counter seems to be, the shorter they are, and the sooner a time-out is over (hsa.c). Where the
 * machine takes the core away during the measurement, the counter must not seem slow.
 */
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "sim/time/library.h"

#define SPIN_LOOKS 10000u
#define SPIN_AGAIN 200u /* looks until a thread that was spinning is so again */
#define YIELD_LOOKS 10u
#define STEP_MIN_NS 10000u
#define STEP_MAX_NS 100000u
#define RAW_LOOKS 100u /* until the raw clock goes on */
#define RAW_SPEED 1000u

static __thread struct {
	uint64_t seen_ns;
	unsigned looks;
	uint64_t step_ns;
} spin __attribute__((tls_model("initial-exec")));

void clock_looked(unsigned weight)
{
	uint64_t now = now_ns();

	/* Time that passes while this thread looks is passed by others, unless it has slept. */
	if (now != spin.seen_ns && !spin.step_ns)
		spin.looks = 0;
	spin.seen_ns = now;
	spin.looks += weight;
	if (spin.looks < SPIN_LOOKS)
		return;
	spin.step_ns = spin_step(spin.step_ns, STEP_MIN_NS, STEP_MAX_NS);
	sleep_until(now + spin.step_ns, TIME_WAIT_SPIN);
	spin.looks = SPIN_LOOKS - SPIN_AGAIN;
	spin.seen_ns = now_ns();
}

void clock_waited(void)
{
	spin.looks = 0;
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

static uint64_t machine_ns(void)
{
	struct timespec t;

	raw(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, (long)&t, 0, 0, 0, 0);
	return to_ns(&t);
}

/* Ahead of the world's clock, the more the longer a thread of this process has read it at once. */
static uint64_t raw_now_ns(void)
{
	static _Atomic uint64_t ahead_ns;
	static __thread struct {
		uint64_t seen_ns, machine_ns;
		unsigned looks;
	} raw_spin __attribute__((tls_model("initial-exec")));
	uint64_t now = now_ns(), machine;

	if (now != raw_spin.seen_ns || !raw_spin.looks) {
		raw_spin.looks = 0;
		raw_spin.machine_ns = machine_ns();
	}
	raw_spin.seen_ns = now;
	if (++raw_spin.looks > RAW_LOOKS) {
		machine = machine_ns();
		atomic_fetch_add(&ahead_ns, RAW_SPEED * (machine - raw_spin.machine_ns));
		raw_spin.machine_ns = machine;
	}
	return now + atomic_load(&ahead_ns);
}

/* The clocks of CPU time are those of the machine. */
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
	clock_looked(1);
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
		clock_looked(YIELD_LOOKS);
	return (int)returned(raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0));
}
