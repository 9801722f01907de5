/* SPDX-License-Identifier: MIT */
/*
 * Holds this process off the GPU by calls of the process itself. Only this module decides whether
 * the process is held, on whose request and by which level (enum client_shm_level). The levels are
 * in self_session.c (a debug session of the process on itself), submit_gate.c (submits nothing
 * more) and queue_override.c (queue priorities; CLIENT_SHM_LEVEL_SELF without a session if
 * KFDSHIM_UPDATE_QUEUE enables it).
 *
 * There are two requesters: the daemon (its hold command, daemon_link.c) and, without a daemon, a
 * peer (peer_policy.c). The process is held while at least one of them requests it, by the level
 * that was named last.
 *
 * Threads: one mutex of this module. It is taken before the agent's lock, never with the agent's
 * lock held. "The agent's thread" is the sampler's (sampler.h).
 */
#ifndef KFDSHIM_SHIM_HOLD_H
#define KFDSHIM_SHIM_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/agent_abi.h"
#include "channel/client_shm.h"

/* Limits; tests make them shorter. */
extern uint64_t hold_span_ns;  /* 30 s: longest time on hold without a pause */
extern uint64_t hold_lease_ns; /* 3 s: a hold request that is not renewed ends */

enum hold_by { HOLD_BY_DAEMON, HOLD_BY_PEERS, HOLD_BY_END };

/*
 * Sets (@hold) or drops the hold request of @by, and applies it before it returns. The agent's
 * thread, not under the agent's lock.
 *
 * A request to hold is a lease: it ends hold_lease_ns after the last hold_set() or hold_renew().
 * After hold_span_ns without a pause the process runs for 200 ms and is then held again. A release
 * for a driver call (hold_leave_begin()) is not such a pause. A request that was granted stays in
 * force during the pause and during the release, and is applied again afterwards.
 *
 * Returns 0, or a negative errno if this level cannot hold the process; the request is then
 * dropped.
 * - -ECANCELED: nothing was tried, because a thread is in a driver call in which a held process
 *   would sleep, or because the runtime is not enabled.
 * - -EOPNOTSUPP: there is no such level, or the driver does not save running waves.
 * - After a failed release the process is still held, and hold_step() releases it when no request
 *   is left.
 */
int hold_set(enum hold_by by, enum client_shm_level level, bool hold);
/* Prepares a process that is not held for a later hold, so that the requester learns before the
 * hold whether the level works. CLIENT_SHM_LEVEL_SELF opens the debug session now. Any other level
 * closes it, unless KFDSHIM_LEVEL is "self". The agent's thread.
 * Returns 0, or a negative errno as hold_set(). */
int hold_prepare(enum client_shm_level level);
/* Renews the hold request of @by, if any, for another hold_lease_ns. The agent's thread. */
void hold_renew(enum hold_by by);
/* If an error has ended a hold that hold_set() had granted to @by, returns that positive errno, but
 * only at the first call; the request was dropped. Otherwise returns 0, also if a time limit has
 * ended the hold, or if it was interrupted by a driver call in which a held process would sleep.
 * The agent's thread. */
int hold_lost(enum hold_by by);
/* Ends hold requests that were not renewed, applies the time limits, suspends new queues of a held
 * process and repeats what has failed. The agent's thread; to be called at least every 100 ms while
 * the process is held. Returns the time of the next call, CLOCK_MONOTONIC ns; UINT64_MAX: no call
 * is needed. */
uint64_t hold_step(uint64_t now_ns);
/* Drops the hold request of the peers, resumes the process and closes its debug session on itself,
 * so that the daemon can open one. With KFDSHIM_LEVEL=self the session stays open. The agent's
 * thread. */
void hold_hand_over(void);
/* Returns true if queues may be off the GPU because of a hold. A read pointer that does not move is
 * then no sign of a running kernel. Any thread. */
bool hold_stands(void);

/* Opens the device for UPDATE_QUEUE if KFDSHIM_LEVEL is "weight" or KFDSHIM_UPDATE_QUEUE is set. To
 * be called before a CREATE_QUEUE on @fd. Not under the agent's lock; keeps errno. */
void hold_device(const struct kfdshim_preload_iface *host, int fd);
/* To be called after RUNTIME_ENABLE has succeeded on @fd. Opens the device for the agent
 * (device_keep()). Opens the debug session of the process on itself if KFDSHIM_LEVEL is "self". If
 * it is "auto" or "trap", opens the session only if there is no daemon and a peer may hold this
 * process. Otherwise the first hold opens it. Not under the agent's lock; keeps errno. */
void hold_runtime_on(const struct kfdshim_preload_iface *host, int fd);
/* To be called before the runtime is disabled. Closes the session, because the driver's runtime
 * disable would sleep while one is open, and closes the agent's device. Not under the agent's lock;
 * keeps errno. */
void hold_runtime_off(void);

/* To be called before and after a driver call in which a suspended process would sleep
 * (DESTROY_QUEUE, runtime disable): begin resumes the process, and it is not suspended again until
 * end. Any thread, not under the agent's lock; both keep errno. */
void hold_leave_begin(void);
void hold_leave_end(void);
/* To be called after a CREATE_QUEUE of a compute queue: if the process is held, makes the agent's
 * thread hold the new queue, too, in its next iteration. Any thread, not under the agent's lock. */
void hold_queue_created(void);

/* Forgets the holds, the session and the device. To be called in a fork child. */
void hold_forget(void);

#endif
