/* SPDX-License-Identifier: MIT */
/*
 * Lock-free readers of the queue table, and a wait for them: before memory that a queue points to
 * is freed, every reader that may have found the queue must have ended. The mechanism is urcu-bp,
 * the flavour of liburcu for threads that the library did not create: a thread is registered
 * automatically at its first read, and removed when it ends.
 *
 * liburcu ends the process where it cannot go on, and waits without a limit. This module stands
 * before each such place: a read or a wait that is not possible is refused, and the caller does
 * without it (docs/decisions/0013-liburcu-in-the-agent.md).
 *
 * Threads: any, with or without locks, also in signal handlers.
 */
#ifndef KFDSHIM_SHIM_READERS_H
#define KFDSHIM_SHIM_READERS_H

#include <stdbool.h>

/* Allows the threads of this process to read. Called when the agent starts. */
void readers_init(void);

/* Begins a read. Reads may be nested. A read lasts for a few memory accesses. Can change errno.
 * Returns false if the calling thread cannot be registered: the table must not be read then, and
 * the hook behaves as if it had found no queue; the sampler finds the queue's work later. */
bool readers_begin(void);
/* Ends a read that has begun. */
void readers_end(void);

/* Waits for all readers that began before the call, at most 100 ms. Not within a read, and with
 * cancellation off (common/thread_cancel.h). Can change errno.
 * Returns true if all of them have ended. What a reader may have found must stay in memory after
 * false: a reader is stopped in a debugger, a signal handler has jumped out of its read, this call
 * comes from a signal handler within a read or from a fork handler, or membarrier(2) or a thread
 * for the wait is refused. */
bool readers_wait(void);

/* To be called around a fork: the first function before it, the second after it in the parent, the
 * third after it in the child. A child of a process whose readers did not end registers no threads:
 * its hooks find no queues. */
void readers_before_fork(void);
void readers_after_fork_parent(void);
void readers_after_fork_child(void);

#endif
