/* SPDX-License-Identifier: MIT */
/*
 * Reads the ring of an AQL queue, for what the pointers do not show: whether the last packet has
 * completed, and whether the first one is a barrier that waits.
 *
 * It is not known whether the CPU can read a ring that no HSA runtime made (`hsa_queue` is 0), so
 * such a ring is read through the kernel (memory_read()). So are the values of signals, because the
 * program may have freed a signal meanwhile. The offset of the completion signal in a packet, and
 * of the value in a signal, are given by the hardware and not by a runtime.
 *
 * Threads: under the agent's lock, for queues in the table. completion_of() also within
 * readers_begin(), if the queue is not `read_via_kernel`. Reading a signal costs a system call: 1.5
 * us in a virtual machine.
 */
#ifndef KFDSHIM_SHIM_COMPLETION_H
#define KFDSHIM_SHIM_COMPLETION_H

#include "shim/queue_table.h"

enum completion {
	COMPLETION_NONE,       /* no completion signal, or it cannot be read */
	COMPLETION_DONE,       /* the signal is 0 or below: the packet is over */
	COMPLETION_UNFINISHED, /* the signal is above 0: perhaps not over */
};

/* Returns the completion signal of the AQL packet before @wptr; 0: the packet has none, or the ring
 * cannot be read. */
uint64_t completion_signal(const struct shim_queue *queue, uint64_t wptr);

/* Checks the completion signal of the packet before @wptr and stores its handle in *signal (0:
 * none). A packet counts its signal down to 0 when it is over. A value above 0 may also belong to a
 * counter of several packets, or to a signal that is in use again. */
enum completion completion_of(const struct shim_queue *queue, uint64_t wptr, uint64_t *signal);

/* Returns true if @signal is final (0 or below). Only for a signal that the program has just read,
 * because it is hardly ever freed then. Makes one quick system call, which sandboxes allow. */
bool completion_is_final(uint64_t signal);

/* Returns true if the packet at @rptr is a barrier whose condition is not met. Only for queues of
 * an HSA runtime; false for others. */
bool completion_of_barrier(const struct shim_queue *queue, uint64_t rptr);

#endif
