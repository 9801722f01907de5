/* SPDX-License-Identifier: MIT */
/*
 * The worker process: one loop that decides. It scans the shared memory of the clients, passes
 * events to the core (scheduler/core), passes the core's actions to executors, and never waits
 * for any of them.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LOOP_H
#define KFDSHIM_SCHEDULER_DAEMON_LOOP_H

#include "scheduler/daemon/beat.h"
#include "scheduler/daemon/config/reload.h"
#include "scheduler/daemon/executor/executors.h"

/*
 * The main function of the worker process. `channel` is its end of the channel from
 * kfdschedd-door (greeter.h), `reader` its end of the connection to kfdschedd-read (reader.h).
 * Returns the exit code of the process: 0 after all clients have been resumed, 1 if it could not
 * start.
 */
int worker_run(int channel, int reader, const struct reload *reload, struct shared_state *shared,
	       struct admission_state *admission_state, struct executors *executors);

#endif
