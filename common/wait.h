/* SPDX-License-Identifier: MIT */
/*
 * Functions that sleep or wait for file descriptors. A moment is a time of clock_ns(), in ns.
 * ci/lint.sh lists the code that waits in another way, and why. Threads: any.
 */
#ifndef KFDSHIM_COMMON_WAIT_H
#define KFDSHIM_COMMON_WAIT_H

#include <poll.h>
#include <stdint.h>
#include <time.h>

#define WAIT_FOREVER UINT64_MAX /* as a moment: no limit */

/* Returns the moment that is `ms` milliseconds from now; 0, which means "do not wait", if `ms` is
 * 0; WAIT_FOREVER if it is negative. */
uint64_t wait_end_ms(int ms);
/* Returns the time that is left until this moment, or 0 if it has passed. Not for WAIT_FOREVER. */
struct timespec wait_left(uint64_t moment_ns);

/* Sleeps for this time. A signal handler that runs in between does not shorten it. */
void sleep_ns(uint64_t ns);
/* Sleeps until this moment of CLOCK_MONOTONIC. Returns 0, or -EINTR if a signal handler has run. */
int sleep_until_ns(uint64_t moment_ns);

/* Waits by poll(2) until an fd is ready, but at most until this moment; 0: does not wait. Returns
 * the number of fds that are ready, 0 if none is, or a negative errno. A signal handler that runs
 * in between does not end the wait. */
int poll_until_ns(struct pollfd *fds, nfds_t n, uint64_t moment_ns);
/* As poll_until_ns(), but returns -EINTR if a signal handler has run, and does not change `revents`
 * then. */
int poll_or_signal_ns(struct pollfd *fds, nfds_t n, uint64_t moment_ns);
/* As poll_until_ns() for one fd; a negative fd is never ready. Returns its `revents`, 0 if it is
 * not ready, or a negative errno. */
int poll_one_ns(int fd, short events, uint64_t moment_ns);

struct epoll_event;
/* Waits by epoll(7) until an fd is ready, but at most until this moment; 0: does not wait. Returns
 * the number of fds that are ready, 0 if none is, or a negative errno, also -EINTR. Before Linux
 * 5.11 the moment is rounded up to a whole millisecond. Not in the preloaded agent
 * (wait_epoll.c). */
int epoll_until_ns(int epoll, struct epoll_event *events, int n, uint64_t moment_ns);

/* Returns the present `revents` of an fd, without waiting. */
static inline int poll_now(int fd, short events)
{
	return poll_one_ns(fd, events, 0);
}

#endif
