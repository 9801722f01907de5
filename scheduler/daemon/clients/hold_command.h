/* SPDX-License-Identifier: MIT */
/*
 * Clients that carry out holds themselves: KFDSHIM_LEVEL self, gate or weight, and clients that
 * have fallen to level self or gate (client_level.h). An action of the core becomes a command in
 * the shared memory of the client (HOLD_CMD), which the client acknowledges. The daemon opens no
 * debug session on such a process and does not trace it.
 *
 * Threads: the worker's loop only, and only for clients with client->hold_cmd_level.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_HOLD_COMMAND_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_HOLD_COMMAND_H

#include "scheduler/daemon/worker.h"

/* Reads the client's session, runtime state and acknowledgement. Returns true if something had
 * changed. */
bool hold_cmd_scan(struct worker *worker, struct client *client, uint64_t now);

/* Called in each sweep: handles a command that was not acknowledged within 1 s. */
void hold_cmd_overdue(struct worker *worker, struct client *client, uint64_t now);

#endif
