/* SPDX-License-Identifier: MIT */
/*
 * The wait of the daemon's loop. Apart from wait.h, which the preloaded agent has in it, too:
 * epoll_pwait2() is a symbol of glibc 2.35, and the agent loads in containers with 2.34.
 */
#ifndef KFDSHIM_COMMON_WAIT_EPOLL_H
#define KFDSHIM_COMMON_WAIT_EPOLL_H

#include <stdint.h>
#include <sys/epoll.h>

/* epoll_wait(2) until that moment of clock_ns(), WAIT_FOREVER, or 0: only what is ready now. Returns
 * how many are ready, 0: none, or a negative errno, also -EINTR. Before Linux 5.11 the moment is
 * rounded up to a whole millisecond. Threads: any. */
int epoll_until_ns(int epoll, struct epoll_event *events, int n, uint64_t moment_ns);

#endif
