/* SPDX-License-Identifier: MIT */
/*
 * What an AQL queue's ring tells beside its pointers. Of rings that no HSA runtime made
 * (queue.hsa_queue) nobody knows whether the CPU may read them: that is done through
 * the kernel, and so is the reading of signals, which the program may have freed by
 * now. Where a completion signal stands, in a packet and the value in itself, is the
 * hardware's rule, not a runtime's.
 *
 * Under the agent's lock, for queues in the table; evidence_of_end() within rcu_begin() as well, if the
 * queue is not `careful`. Each signal costs a system call, of 1.5 us in a virtual machine.
 */
#ifndef KFDSHIM_SHIM_EVIDENCE_H
#define KFDSHIM_SHIM_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/queues.h"

enum evidence {
	EVIDENCE_NONE,	     /* no completion signal, or it cannot be read */
	EVIDENCE_DONE,	     /* it says that the packet is over */
	EVIDENCE_UNFINISHED, /* it says, or seems to say, that it is not */
};

/* The completion signal of the packet before `wptr` (*signal; 0: none). It is counted
 * down to 0; one above 0 may also be a counter of several packets, or in use again. */
enum evidence evidence_of_end(const struct queue *queue, uint64_t wptr, uint64_t *signal);

/* Is a signal final that the program's thread has just read, so that it is hardly ever gone? A quick system
 * call, which sandboxes allow. */
bool evidence_is_final(uint64_t signal);

/* Is the packet at `rptr` a barrier whose condition is not met? Of an HSA runtime's
 * queues only. */
bool evidence_of_block(const struct queue *queue, uint64_t rptr);

#endif
