/* SPDX-License-Identifier: MIT */
/*
 * Decides when to hold this process for a peer (another shim of the same user, without a daemon):
 * when a hold is worth its cost, and what to do after a hold has failed. peers.c finds out whether
 * more urgent work is active.
 *
 * Threads: the sampler's, unless noted otherwise.
 */
#ifndef KFDSHIM_SHIM_LINKS_PEER_POLICY_H
#define KFDSHIM_SHIM_LINKS_PEER_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* Enables the logging of errors again. To be called when the use of peers begins. */
void peers_hold_begin(void);
/* Decides whether this process is held for a peer, and holds or releases it. @urgent: more urgent
 * work of a peer is active on a node where this process, or its group, has queues.
 * Returns the time of the next call, CLOCK_MONOTONIC ns; UINT64_MAX: no call is needed. */
uint64_t peers_hold_step(uint64_t now_ns, bool urgent);
/* Releases the process. To be called when it has no queues, or when peers are no longer used. */
void peers_hold_end(void);
/* Returns true while the process is held for a peer. */
bool peers_hold_stands(void);

/* Returns true if the process is idle but its next work is to be held, so that this work must wake
 * the sampler. Under the agent's lock. */
bool peers_hold_awaits_work(void);

/* Forgets everything, in a fork child. */
void peers_hold_forget(void);

#endif
