/* SPDX-License-Identifier: MIT */
/*
 * Lock-free reads of the queue table, and a wait for the threads that read it: before memory that a
 * queue points to is freed, every reader that may have found the queue must have ended. The
 * mechanism is urcu-bp, the flavour of liburcu for threads that the library did not create: it
 * registers a thread at its first read, and removes the thread when it ends.
 *
 * liburcu ends the process where it cannot go on, and waits without a limit. So this module checks
 * before each call whether it can succeed. If not, it refuses the read or the wait, and the caller
 * goes on without (docs/decisions/0013-liburcu-in-the-agent.md).
 *
 * Threads: any, with or without locks, also in signal handlers.
 */
#ifndef KFDSHIM_SHIM_READERS_H
#define KFDSHIM_SHIM_READERS_H

#include <stdbool.h>

/* Allows the threads of this process to read the table. Called when the agent starts. */
void readers_init(void);

/* Begins a read of the table, which lasts for a few memory accesses. Reads may be nested. Can
 * change errno. Returns false if the calling thread cannot be registered. The table must not be
 * read then: the hook behaves as if it had found no queue, and the sampler finds the queue's work
 * later. */
bool readers_begin(void);
/* Ends a read that has begun. */
void readers_end(void);

/* Waits at most 100 ms for all readers that began before the call. Not within a read, and with
 * cancellation off (common/thread_cancel.h). Can change errno. Returns true if all of them have
 * ended. If it returns false, what a reader may have found must stay in memory. That is so if a
 * reader is stopped in a debugger, if a signal handler has jumped out of a read, if this call comes
 * from a signal handler within a read or from a fork handler, or if membarrier(2) or a thread for
 * the wait is refused. */
bool readers_wait(void);

/* To be called around a fork: the first function before it, the second after it in the parent, the
 * third after it in the child. If the readers did not end before the fork, the child registers no
 * threads, and its hooks find no queues. */
void readers_before_fork(void);
void readers_after_fork_parent(void);
void readers_after_fork_child(void);

#endif
