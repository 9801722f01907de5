// SPDX-License-Identifier: MIT
#include "common/wait.h"

#include <errno.h>
#include <stddef.h>

#include "common/clock.h"

#define NS_PER_MS 1000000u

uint64_t wait_end_ms(int ms)
{
	if (ms <= 0)
		return ms < 0 ? WAIT_FOREVER : 0;
	return clock_ns() + (uint64_t)ms * NS_PER_MS;
}

void sleep_ns(uint64_t ns)
{
	struct timespec left = clock_timespec(ns);

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

int sleep_until_ns(uint64_t moment_ns)
{
	const struct timespec moment = clock_timespec(moment_ns);

	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL);
}

struct timespec wait_left(uint64_t moment_ns)
{
	uint64_t now = moment_ns && moment_ns != WAIT_FOREVER ? clock_ns() : 0;

	return clock_timespec(moment_ns > now ? moment_ns - now : 0);
}

int poll_or_signal_ns(struct pollfd *fds, nfds_t n, uint64_t moment_ns)
{
	const struct timespec left = wait_left(moment_ns);
	int ready = ppoll(fds, n, moment_ns == WAIT_FOREVER ? NULL : &left, NULL);

	return ready < 0 ? -errno : ready;
}

int poll_until_ns(struct pollfd *fds, nfds_t n, uint64_t moment_ns)
{
	int ready;

	do
		ready = poll_or_signal_ns(fds, n, moment_ns);
	while (ready == -EINTR);
	return ready;
}

int poll_one_ns(int fd, short events, uint64_t moment_ns)
{
	struct pollfd one = {.fd = fd, .events = events};
	int ready = poll_until_ns(&one, 1, moment_ns);

	return ready > 0 ? one.revents : ready;
}
