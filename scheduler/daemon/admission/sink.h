/* SPDX-License-Identifier: MIT */
/*
 * Closing of connections that hold file descriptors chosen by their sender. Closing such a
 * descriptor can block for as long as the sender wants, so a separate process closes each
 * connection. Needed only on kernels before Linux 6.16 (greeter.h).
 *
 * Threads: kfdschedd-door, which has one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_ADMISSION_SINK_H
#define KFDSHIM_SCHEDULER_DAEMON_ADMISSION_SINK_H

#include <stdbool.h>

/* Forks a process that closes `fd`. Takes ownership of `fd` in any case. If the process cannot
 * be created, `fd` stays open for the life of kfdschedd-door and an error is logged. */
void sink_add(int fd);

/* Reaps the processes that have ended. */
void sink_reap(void);

/* Returns true if another process may be created, that is if fewer than ADMISSION_SINKS are
 * running. */
bool sink_room(void);

#endif
