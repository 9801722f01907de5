/* SPDX-License-Identifier: MIT */
/*
 * Polls the pointers of every queue. A poll finds work that no hook has seen, kernels that run (the
 * read pointer does not move), barriers that wait, and the end of work. Each poll costs the program
 * CPU time, so this module also calculates when the next poll is worth its cost.
 *
 * Threads: the sampler's, under the agent's lock (completion.h).
 */
#ifndef KFDSHIM_SHIM_LOOK_H
#define KFDSHIM_SHIM_LOOK_H

#include <stdbool.h>
#include <stdint.h>

/* Polls all queues. @suspended: the queues are suspended, so a read pointer that does not move is
 * no sign of a running kernel.
 * Returns the time until the next poll in ns; UINT64_MAX: hooks announce the work of every queue,
 * and all queues have drained. */
uint64_t poll_queues(uint64_t now_ns, bool suspended);

#endif
