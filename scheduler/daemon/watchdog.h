/* SPDX-License-Identifier: MIT */
/*
 * The parent of the worker. It never opens /dev/kfd, so nothing that the GPU
 * does can hold it up; what it can do is kill the worker, whereupon the driver
 * ends the worker's debug sessions and resumes every queue.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_WATCHDOG_H
#define KFDSHIM_SCHEDULER_DAEMON_WATCHDOG_H

#include "scheduler/daemon/listener.h"
#include "scheduler/daemon/reload.h"

/*
 * Runs workers, one after the other, until SIGTERM or SIGINT, and then until
 * the last has resumed everything. SIGHUP: the configuration is read again. A worker is killed when its
 * heartbeat is older than 500 ms; while a SUSPEND is in flight that may take
 * 10 s, unless the worker is stopped. Returns the exit code. In the worker's
 * process it does not return.
 */
int watchdog_run(const struct listener *listener, struct reload *reload);

#endif
