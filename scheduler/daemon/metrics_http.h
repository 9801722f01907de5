/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics by HTTP, on loopback alone. The watchdog has the listening socket, so
 * that the port outlives a worker; the worker serves it by one thread of ordinary
 * priority, which shares nothing with the loop but three pictures: one that the loop
 * fills, one that the thread tells, and one between them. Neither ever waits for the
 * other.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_METRICS_HTTP_H
#define KFDSHIM_SCHEDULER_DAEMON_METRICS_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/daemon/metrics_text.h"

/* Before any fork: listens on 127.0.0.1. 0, or a negative errno and one sentence in
 * `problem`. Without it the rest of this file does nothing. */
int metrics_http_listen(uint16_t port, char *problem, size_t size);
/* The same, with a socket that listens already. */
void metrics_http_use(int socket);
/* Where somebody may wait who asks; -1: nobody can. */
int metrics_http_listener(void);
/* The loop: where the next picture goes, and then that it is whole; with the first it
 * begins to be served. NULL: nobody can ask. */
struct metrics_snapshot *metrics_http_room(void);
void metrics_http_publish(void);

#endif
