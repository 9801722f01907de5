/* SPDX-License-Identifier: MIT */
/*
 * One look at the pointers of every queue: has work begun that no hook has seen, does a
 * kernel stand, waits one for a barrier, is it over? Who asks often pays for it, so it is
 * also said when the next look is worth it.
 *
 * Under the agent's lock, by the sampler's thread (evidence.h).
 */
#ifndef KFDSHIM_SHIM_LOOK_H
#define KFDSHIM_SHIM_LOOK_H

#include <stdbool.h>
#include <stdint.h>

/* `suspended`: the queues stand because they are suspended, which tells nothing about
 * kernels. Returns after how many ns to look again; UINT64_MAX: every queue is seen by a
 * hook and drained. */
uint64_t look_at_queues(uint64_t now_ns, bool suspended);

#endif
