/* SPDX-License-Identifier: MIT */
/*
 * Which KFD process a descriptor of /dev/kfd speaks for. All descriptors of a
 * process share one, the primary, unless CREATE_PROCESS (KFD 1.19) was called
 * on one: from then on it is a context of its own, in the same address space,
 * with queue ids of its own. The driver remembers that in the open file, so a
 * copy made by dup is the same context, and a number used again is not.
 *
 * A context ends with its last descriptor, and its queues with it, without a
 * DESTROY_QUEUE: who has secondary contexts has them looked for once a second
 * while there are queues, else when one more is made.
 *
 * Any thread; errno is kept.
 */
#ifndef KFDSHIM_SHIM_CONTEXTS_H
#define KFDSHIM_SHIM_CONTEXTS_H

#include <stdint.h>

#define CONTEXT_PRIMARY 0u
#define CONTEXT_UNSEEN 63u /* of one of the many: not told apart from others */

/* After CREATE_PROCESS succeeded on it. Of the numbers from 1 on it gets the first
 * that is free; with none left that is said, and its queues are not seen. */
void context_new(int fd);
/* 0: the primary. */
uint32_t context_of(int fd);
/* The sampler's thread. Forgets contexts that have ended, with their queues, two
 * looks after that. When it wants to be called again (CLOCK_MONOTONIC ns,
 * UINT64_MAX: not by itself). */
uint64_t contexts_step(uint64_t now_ns);
/* Fork child. */
void contexts_forget(void);

#endif
