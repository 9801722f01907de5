/* SPDX-License-Identifier: MIT */
/*
 * The sampler: the one thread of the agent, "kfdshim". It polls the pointers of the queues while
 * that is needed, and serves the connection to the daemon, the peers and the holds.
 */
#ifndef KFDSHIM_SHIM_SAMPLER_H
#define KFDSHIM_SHIM_SAMPLER_H

#include <stdint.h>

/* Longest sleep while there are queues; six times as long without queues. Tests make it shorter. */
extern uint64_t sampler_longest_ns; /* 10 s */

/* Starts the thread at the first call, with all signals blocked. If it cannot be started, that is
 * logged, and nothing in this process is scheduled. Keeps errno. */
void sampler_start(void);
/* In a fork child: forgets the thread, which the child does not have. */
void sampler_forget(void);

#endif
