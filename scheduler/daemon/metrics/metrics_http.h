/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics by HTTP, on loopback only. The watchdog owns the listening socket, so that the
 * port outlives all other processes. A separate process, kfdschedd-http, accepts and parses
 * requests. It has no capability, no device, no memory of the worker that it could write
 * (metrics_share.h), and a narrow filter of system calls (FILTER_METRICS), because any local
 * user can write what it parses.
 *
 * It accepts connections while there is a snapshot of a running worker. Otherwise a connection
 * waits in the queue of the socket until the watchdog has started the next worker.
 *
 * Threads: main() before the first fork, the watchdog, and kfdschedd-http, which have one thread
 * each.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_HTTP_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_METRICS_HTTP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Listens on 127.0.0.1, before the first fork. Without this the rest of this file has no effect.
 *
 * Returns 0, or a negative errno with one sentence in `problem`.
 */
int metrics_http_listen(uint16_t port, char *problem, size_t size);

/* The same with a socket that is listening already. Takes ownership. */
void metrics_http_use(int socket);

/* Returns the listening socket; -1: there is none. */
int metrics_http_listener(void);

/* The main function of kfdschedd-http, which the watchdog forks. Returns the exit code of the
 * process. */
int metrics_http_run(void);

#endif
