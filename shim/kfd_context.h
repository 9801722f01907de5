/* SPDX-License-Identifier: MIT */
/*
 * KFD contexts: to which KFD process an open file of /dev/kfd belongs. All open files of a process
 * share the primary context, unless CREATE_PROCESS (KFD 1.19) was called on one of them: that file
 * is then a context of its own, in the same address space, with queue ids of its own. The driver
 * stores the context in the open file. So a copy made by dup() has the same context, but a file
 * that is opened later under the same descriptor number has not.
 *
 * A secondary context is destroyed with its queues when its last file descriptor is closed, without
 * a DESTROY_QUEUE. So if a process has secondary contexts, the agent scans its file descriptors for
 * them: once a second while there are queues, otherwise whenever another context is made.
 *
 * Threads: any, except contexts_step(). errno is kept.
 */
#ifndef KFDSHIM_SHIM_KFD_CONTEXT_H
#define KFDSHIM_SHIM_KFD_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#define CONTEXT_PRIMARY 0u
#define CONTEXT_UNSEEN 63u /* one number for all contexts for which no number was free */

/* Registers a new context after CREATE_PROCESS succeeded on @fd. The context gets the lowest free
 * number from 1 on. If no number is free, that is logged once and the queues of the context are not
 * observed. */
void context_new(int fd);
/* Returns the number of the context that @fd belongs to; CONTEXT_PRIMARY for the primary one. */
uint32_t context_of_fd(int fd);
/* Scans for contexts that have ended. If two scans in a row have not found a context, calls @ended,
 * which removes what belongs to it. Forgets the context if @ended returns true; otherwise calls
 * @ended again after the next scan. Returns the time of the next call while there are queues,
 * CLOCK_MONOTONIC ns; UINT64_MAX: no call is needed until sampler_wake(). Sampler's thread only. */
uint64_t contexts_step(uint64_t now_ns, bool (*ended)(uint32_t context));
/* Forgets all contexts, in a fork child. */
void contexts_forget(void);

#endif
