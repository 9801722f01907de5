/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics by HTTP, on loopback alone. The watchdog has the listening socket, so that
 * the port outlives every other process; a process of its own, kfdschedd-http, accepts and
 * parses. It has no capability, no device, no memory of the worker that it could write
 * (metrics_share.h) and a narrow filter of system calls (FILTER_METRICS), because what it
 * parses is written by any local user.
 *
 * It accepts while it has the snapshot of a worker that runs. Otherwise a connection waits
 * in the socket's queue, where the watchdog sees it and starts a worker if there is none.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_HTTP_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_HTTP_H

#include <stddef.h>
#include <stdint.h>

/* Before any fork: listens on 127.0.0.1. 0, or a negative errno and one sentence in
 * `problem`. Without it the rest of this file does nothing. */
int metrics_http_listen(uint16_t port, char *problem, size_t size);
/* The same, with a socket that listens already. */
void metrics_http_use(int socket);
/* Where a connection may wait; -1: there is no listening socket. */
int metrics_http_listener(void);
/* The process that serves, forked by the watchdog: returns its exit code. */
int metrics_http_run(void);

#endif
