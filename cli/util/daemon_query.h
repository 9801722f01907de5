/* SPDX-License-Identifier: MIT */
/*
 * Queries the daemon's state through libkfdsched (include/kfdsched.h).
 *
 * Each query is a connection of its own. Threads: none. Errors: a negative errno;
 * daemon_query_status() prints a message instead. Ownership: the caller owns the JSON.
 */
#ifndef KFDSHIM_CLI_UTIL_DAEMON_QUERY_H
#define KFDSHIM_CLI_UTIL_DAEMON_QUERY_H

#include <jansson.h>

#include "cli/util/command.h"

/* Returns the path of the daemon's socket: KFDSHIM_SOCKET, or the default. */
const char *query_socket(void);
/*
 * Queries the daemon's state as JSON (docs/reference/status.md). `pid`: a process, by its pid in
 * the daemon's pid namespace (daemon_query_number()). The reply then has all that the daemon knows
 * about this process. `pid` 0: the state of all clients.
 * Returns 0 with *out set, or with *out NULL
 *   -ENOENT, -ECONNREFUSED  there is no daemon at `socket`
 *   -EPROTO                 the reply could not be parsed
 *   -EAGAIN                 no reply within two seconds
 *   -ESRCH                  the daemon knows no such process
 *   others                  the error with which the daemon refused
 */
int query_daemon(const char *socket, int pid, json_t **out);
/* Queries the daemon as query_daemon() does. If `summary` is true, the reply is about all clients
 * and has the number of queues per node (`queue_counts`) instead of the queues. Returns CLI_GO_ON,
 * or CLI_FAILED after one line on stderr. */
int daemon_query_status(const struct cli_command *cmd, const char *socket, int pid, bool summary,
			json_t **out);
/* Returns the pid that process `pid` has in the daemon's pid namespace, which can differ from that
 * of the caller. Returns 0 if no daemon replies, or if the daemon does not know the process. If the
 * daemon knows the process, commands act on the process only through the daemon. */
int daemon_query_number(const char *socket, int pid);

#endif
