/* SPDX-License-Identifier: MIT */
/*
 * The waits of all our own programs. A moment is a time of clock_ns(). packaging/lint.sh lists
 * what waits in another way, and why. Threads: any.
 */
#ifndef KFDSHIM_COMMON_WAIT_H
#define KFDSHIM_COMMON_WAIT_H

#include <poll.h>
#include <stdint.h>
#include <time.h>

#define WAIT_FOREVER UINT64_MAX

/* The moment that is so many milliseconds away; negative: WAIT_FOREVER. */
uint64_t wait_end_ms(int ms);
/* What is left until then; 0: nothing. Of WAIT_FOREVER it means nothing. */
struct timespec wait_left(uint64_t moment_ns);

/* A signal handler that runs meanwhile does not shorten it. */
void sleep_ns(uint64_t ns);
/* 0, or -EINTR: a signal handler has run. */
int sleep_until_ns(uint64_t moment_ns);

/* poll(2) until that moment, or 0: only what is ready now. How many are ready, 0: none, or a
 * negative errno. A signal handler that runs meanwhile does not end it. */
int poll_until_ns(struct pollfd *fds, nfds_t n, uint64_t moment_ns);
/* The same, and -EINTR: a signal handler has run, and the `revents` are as they were. */
int poll_or_signal_ns(struct pollfd *fds, nfds_t n, uint64_t moment_ns);
/* The same of one descriptor, which may be negative (none): its `revents`, 0: none, or a negative
 * errno. */
int poll_one_ns(int fd, short events, uint64_t moment_ns);

/* What it is ready for now. */
static inline int poll_now(int fd, short events)
{
	return poll_one_ns(fd, events, 0);
}

#endif
