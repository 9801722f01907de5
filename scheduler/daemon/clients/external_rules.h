/* SPDX-License-Identifier: MIT */
/*
 * Priorities for external processes (external.h) by rules of the configuration with `shim = no`.
 * Once a second, the processes that use the driver and have no shim are compared with these
 * rules, and the first matching rule gives the process its priority. Other rules do not apply to
 * such processes, because a rule for processes with the shim must not cause the daemon to trace
 * other processes. Of the effects of a rule only the priority counts, and level = observe, which
 * exempts the process.
 *
 * A control request about a process overrides all rules (control.h). Without a rule of this kind
 * this module costs nothing.
 *
 * Threads: the worker's loop only.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_EXTERNAL_RULES_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_EXTERNAL_RULES_H

#include "scheduler/daemon/worker.h"

/* The attributes of an external process may have changed: evaluates the rules for it again. */
void external_rules_again(struct worker *worker, struct client *client);

/* Called in each loop iteration; works for 2 ms at most. The first calls also give processes their
 * priority again that a request has set in an earlier worker (saved_state.h). */
void external_rules_check(struct worker *worker, uint64_t now);

#endif
