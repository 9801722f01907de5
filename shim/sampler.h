/* SPDX-License-Identifier: MIT */
/*
 * The sampler: the agent's permanent thread, named "kfdshim". It polls the pointers of the queues
 * while that is needed, and does the work of the connection to the daemon (links/daemon_link.h), of
 * the peers (links/peers.h) and of the holds (hold.h).
 */
#ifndef KFDSHIM_SHIM_SAMPLER_H
#define KFDSHIM_SHIM_SAMPLER_H

#include <stdint.h>

/* Longest sleep while there are queues; six times as long without queues. Tests make it shorter. */
extern uint64_t sampler_longest_ns; /* 10 s */

/* Starts the thread at the first call, with all signals blocked. If it cannot be started, that is
 * logged, and nothing in this process is scheduled. Keeps errno. */
void sampler_start(void);
/* Forgets the thread in a fork child, which does not have it. */
void sampler_forget(void);

#endif
