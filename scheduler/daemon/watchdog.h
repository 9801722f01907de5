/* SPDX-License-Identifier: MIT */
/*
 * The watchdog: the parent of all processes of the daemon. It never opens /dev/kfd, so nothing
 * that the GPU does can block it. If an executor process blocks, the watchdog kills it, and the
 * driver then ends its debug sessions and resumes all queues that these have suspended.
 *
 * Threads: one.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_WATCHDOG_H
#define KFDSHIM_SCHEDULER_DAEMON_WATCHDOG_H

#include "scheduler/daemon/config/config.h"
#include "scheduler/daemon/listener.h"

/*
 * Runs workers, one after the other, until SIGTERM or SIGINT, and then until the last worker has
 * resumed all processes. SIGHUP makes it read the configuration again. A worker is killed if its
 * heartbeat is older than 500 ms, or, before its loop runs, older than 5 s. When an executor
 * process is killed is described in executor.h. When a worker ends, all executor processes are
 * ended, too.
 *
 * Returns the exit code. Does not return in the processes that it forks.
 */
int watchdog_run(const struct listener *listener, struct reload *reload);

#endif
