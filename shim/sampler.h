/* SPDX-License-Identifier: MIT */
/*
 * The sampler: the agent's permanent thread, named "kfdshim". It polls the pointers of the queues
 * while that is needed, and does the work of the connection to the daemon (links/daemon_link.h), of
 * the peers (links/peers.h) and of the holds (hold.h).
 *
 * A poll finds work that no hook has seen, kernels that run (the read pointer does not move),
 * barriers that wait, and the end of work. Each poll costs the program CPU time, so this module
 * also calculates when the next poll is worth its cost.
 */
#ifndef KFDSHIM_SHIM_SAMPLER_H
#define KFDSHIM_SHIM_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

/* Longest sleep while there are queues; six times as long without queues. Tests make it shorter. */
extern uint64_t sampler_longest_ns; /* 10 s */

/* Starts the thread at the first call, with all signals blocked. If it cannot be started, that is
 * logged, and nothing in this process is scheduled. Keeps errno. */
void sampler_start(void);
/* Forgets the thread in a fork child, which does not have it. */
void sampler_forget(void);

/* Polls all queues, under the agent's lock (completion.h). @suspended: the queues are suspended, so
 * a read pointer that does not move is no sign of a running kernel.
 * Returns the time until the next poll in ns; UINT64_MAX: hooks announce the work of every queue,
 * and all queues have drained. */
uint64_t poll_queues(uint64_t now_ns, bool suspended);

#endif
