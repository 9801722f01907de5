/* SPDX-License-Identifier: MIT */
/*
 * Finds ends of work that a thread of the program has noticed: its wait for a signal or the
 * driver's wait for events has returned, or its load has returned a final value (0 or below).
 *
 * The work of a queue has ended if the completion signal of the queue's last packet is final. The
 * signal is read after the queue's write pointer (completion.h). The thread may have waited for
 * another signal: when a copy is over that waited on the GPU for a kernel, the kernel is over, too.
 * A signal that counts from 0 downwards is final at once, so its queue counts as idle until the
 * sampler finds that the read pointer stays before the write pointer.
 *
 * Threads: any. The hooks never wait for a lock; they leave a request in the queue (activity.h).
 */
#ifndef KFDSHIM_SHIM_ENDS_H
#define KFDSHIM_SHIM_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/* Records that the calling thread is about to wait for @signal. This function and the next four are
 * hooks of struct kfdshim_agent; any thread. Returns a ticket for ends_wait_end(), or
 * KFDSHIM_NO_TICKET if no queue is active or too many threads wait. */
uint32_t ends_wait_begin(uint64_t signal);
/* Removes the record of ends_wait_begin(). @over: the wait's condition was met and the signal is
 * final (0 or below). If @over, also makes the queues idle whose work has ended. Keeps errno. */
void ends_wait_end(uint32_t ticket, uint64_t signal, bool over);
/* Called after a load that has returned a final value (0 or below) of @signal: makes the queues
 * idle whose work has ended. Keeps errno. */
void ends_loaded(uint64_t signal);
/* Called after the driver's wait for events: makes the queues idle whose work has ended. Keeps
 * errno. */
void ends_events(void);
/* Makes the queues active whose write pointer has moved, after the runtime has accepted a copy.
 * Records @completion, the signal that the copy counts down at its end (0: none). Keeps errno. */
void ends_copied(uint64_t completion);

/* Returns true if a thread is waiting for @signal. Any thread. */
bool ends_is_waited_for(uint64_t signal);

/* Forgets all recorded waits and copies. Called at the start, and in a fork child. */
void ends_init(void);

#endif
