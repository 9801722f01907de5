/* SPDX-License-Identifier: MIT */
/*
 * Where the door leaves connections that hold descriptors of their sender's choice: each
 * is closed by a process of its own, which may be stuck in that for as long as the sender
 * likes. Needed only before Linux 6.16 (greeter.h).
 *
 * For the door, which has one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_SINK_H
#define KFDSHIM_SCHEDULER_DAEMON_SINK_H

#include <stdbool.h>

/* Takes `fd`, whatever happens: without a process for it, it stays open. */
void sink_add(int fd);
/* Forgets the processes that have ended. */
void sink_reap(void);
/* May there be another one? */
bool sink_room(void);

#endif
