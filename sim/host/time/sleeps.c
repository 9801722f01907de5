// SPDX-License-Identifier: MIT
/* Sleeps: waits for nothing but time. */
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/host/time/library.h"

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
