/* SPDX-License-Identifier: MIT */
/*
 * Checks of a process that a request or a rule names by pid: is it the intended process, and can
 * it be an external process (external.h)? It does not know the daemon, so only /proc and sysfs
 * are available.
 *
 * Threads: kfdschedd-read, because reads in /proc can block (reader.h).
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_EXTERNAL_TARGET_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_EXTERNAL_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "scheduler/daemon/peer.h"

/*
 * Checks process `pid` and opens a pidfd of it.
 *
 * Returns 0: *out describes that process and not a later one with the same pid, and the caller
 * owns out->pidfd. Otherwise returns a negative errno with one sentence in `problem`:
 *   -ESRCH: no such process (wrong number, another namespace, a zombie);
 *   -EINVAL: it cannot have a priority (a thread, a kernel thread, the daemon itself);
 *   -ENODEV: it does not use the driver, or is not found in the driver's list;
 *   -EEXIST: it has the shim;
 *   -EACCES: its namespaces cannot be read.
 */
int target_open(pid_t pid, struct socket_peer *out, char *problem, size_t size);

/* Returns true if the process has the shim and the shim is not disabled; false also if that
 * cannot be read. */
bool target_has_shim(pid_t pid);

/* Returns true if a thread of the process is in DESTROY_QUEUE, where it sleeps until the queue
 * is resumed (wait_on_destroy_queue in the driver). A process without the shim does not announce
 * that. Reads one file for each thread. */
bool target_destroys(pid_t pid);

#endif
