/* SPDX-License-Identifier: MIT */
/*
 * Holding this process for a peer: when that is worth what it costs, and what becomes of
 * it when it fails. That somebody more urgent works is for peers.c to find.
 *
 * The sampler's thread, but where it says so.
 */
#ifndef KFDSHIM_SHIM_PEERS_HOLD_H
#define KFDSHIM_SHIM_PEERS_HOLD_H

#include <stdbool.h>
#include <stdint.h>

/* Peers are met from now on: what cannot be done is said (anew). */
void peers_hold_begin(void);
/* Does somebody more urgent work where this process has queues? Returns when to ask
 * again (CLOCK_MONOTONIC ns; UINT64_MAX: not by itself). */
uint64_t peers_hold_step(uint64_t now_ns, bool urgent);
/* It goes on: nothing of it can be in a peer's way, or peers are not met any more. */
void peers_hold_end(void);
bool peers_hold_stands(void);

/* Under the agent's lock: the first work is to be held, and so to wake the sampler. */
bool peers_hold_awaits_work(void);

/* Fork child. */
void peers_hold_forget(void);

#endif
