// SPDX-License-Identifier: MIT
/* Waits by epoll(7), for the daemon's loop. Not in wait.c, which is also a part of the preloaded
 * agent: epoll_pwait2() is a symbol of glibc 2.35, and the agent loads in containers with 2.34. */
#include <errno.h>
#include <sys/epoll.h>

#include "common/wait.h"

#define NS_PER_MS 1000000u

static int timeout_ms(uint64_t moment_ns, const struct timespec *left)
{
	if (moment_ns == WAIT_FOREVER)
		return -1;
	if (left->tv_sec >= 1000000) /* too long for an int: the caller waits again */
		return 1000000000;
	return (int)(left->tv_sec * 1000 + (left->tv_nsec + (long)NS_PER_MS - 1) / (long)NS_PER_MS);
}

int epoll_until_ns(int epoll, struct epoll_event *events, int n, uint64_t moment_ns)
{
	const struct timespec left = wait_left(moment_ns);
	int ready = epoll_pwait2(epoll, events, n, moment_ns == WAIT_FOREVER ? NULL : &left, NULL);

	/* EPERM: a seccomp filter refuses it. */
	if (ready < 0 && (errno == ENOSYS || errno == EPERM))
		ready = epoll_wait(epoll, events, n, timeout_ms(moment_ns, &left));
	return ready < 0 ? -errno : ready;
}
