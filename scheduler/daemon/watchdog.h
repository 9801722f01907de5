/* SPDX-License-Identifier: MIT */
/*
 * The parent of the worker and of the executor processes. It never opens /dev/kfd, so
 * nothing that the GPU does can hold it up; what it can do is kill an executor process,
 * whereupon the driver ends its debug sessions and resumes every queue of theirs.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_WATCHDOG_H
#define KFDSHIM_SCHEDULER_DAEMON_WATCHDOG_H

#include "scheduler/daemon/listener.h"
#include "scheduler/daemon/reload.h"

/*
 * Runs workers, one after the other, until SIGTERM or SIGINT, and then until
 * the last has resumed everything. SIGHUP: the configuration is read again. A worker is killed when its
 * heartbeat is older than 500 ms, an executor process as executors.h says; when a
 * worker ends, all executor processes do. Returns the exit code. In a process that it
 * starts it does not return.
 */
int watchdog_run(const struct listener *listener, struct reload *reload);

#endif
