/* SPDX-License-Identifier: MIT */
/*
 * Ends that a thread of the program sees: it comes back from a wait for a signal, or has loaded a final
 * value, or comes back from the driver's wait for events. A queue has ended if the signal of its last
 * packet is final after its write pointer was read (evidence.h), also if the thread has waited for
 * another signal: a kernel is over when the copy is that waited for it on the GPU. A signal that counts
 * from 0 downwards is final at once: its queue is idle until the sampler finds that its read pointer stands.
 *
 * Threads: any. The hooks never wait for a lock; they leave a request (activity.h).
 */
#ifndef KFDSHIM_SHIM_ENDS_H
#define KFDSHIM_SHIM_ENDS_H

#include <stdbool.h>
#include <stdint.h>

/* Hooks. See struct kfdshim_agent. */
uint32_t ends_wait_begin(uint64_t signal);
void ends_wait_end(uint32_t ticket, uint64_t signal, bool over);
void ends_loaded(uint64_t signal);
void ends_events(void);
void ends_copied(uint64_t completion);

/* Is a thread in a wait on this signal? */
bool ends_is_waited_for(uint64_t signal);

/* At the start, and in the fork child. */
void ends_init(void);

#endif
