/* SPDX-License-Identifier: MIT */
/*
 * Holding this process back from within: whether, for whom, by which level.
 * The one place that decides it; the levels themselves are self.c (a debug
 * session on itself), gate.c (submits nothing more) and updates.c (priorities;
 * and level self without a session, where KFDSHIM_UPDATE_QUEUE asks for it).
 *
 * Two may want it: the daemon (its order, link.c) and, without a daemon, a peer
 * (peers.c). It is held while any of them does, by the level named last.
 */
#ifndef KFDSHIM_SHIM_HOLD_H
#define KFDSHIM_SHIM_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/lane.h"
#include "preload/agent.h"
#include "shim/queues.h"

/* Tests make them shorter. */
extern uint64_t hold_stretch_ns; /* 30 s */
extern uint64_t hold_lease_ns;	 /* 3 s */

enum hold_by { HOLD_BY_DAEMON, HOLD_BY_PEERS, HOLD_BY_END };

/*
 * The agent's own thread, not under the lock. In effect when it returns. 0, or a
 * negative errno: it cannot be by this level, and the process is not held.
 * -ECANCELED: nothing was tried, for a thread is in a call that a held process
 * would sleep in, or the runtime is not enabled. -EOPNOTSUPP: no such level.
 * What was granted outlives both: it is in effect again when they are over.
 * A wish to hold is a lease: whoever has it renews it, or it is over after
 * hold_lease_ns. After hold_stretch_ns at a stretch the process runs for 200 ms;
 * a release for such a call does not end the stretch.
 */
int hold_set(enum hold_by by, enum lane_level level, bool hold);
/* The same thread, of a process that nobody wants held. Whoever is to hold it knows before
 * he does whether that can be: level self has its debug session from now on, another has
 * none (unless KFDSHIM_LEVEL says self). 0, or a negative errno as of hold_set(). */
int hold_prepare(enum lane_level level);
/* The same thread: the wish is still there, if there is one. */
void hold_renew(enum hold_by by);
/* The same thread. A hold that hold_set had said to be in effect is over, and
 * nobody asked for that: why (errno), once; else 0. The wish is dropped. The limits
 * in time, and calls that a held process would sleep in, are no such loss. */
int hold_lost(enum hold_by by);
/* The agent's own thread, at least every 100 ms while held: leases, limits in
 * time. When it wants to be called again (CLOCK_MONOTONIC ns, UINT64_MAX: not
 * by itself). */
uint64_t hold_step(uint64_t now_ns);
/* Gives up a debug session on itself, resuming first; the daemon may then have
 * one. Nothing happens if there is none. The agent's own thread. */
void hold_hand_over(void);
/* Any thread. Held at all; and: its queues stand, which tells nothing about
 * kernels. */
bool hold_is_held(void);
bool hold_stands(void);
/* Any thread. Has it a debug session on itself? *error: 0, or the (positive)
 * errno that the last try to open one ended with. */
bool hold_own_session(int *error);
/* Any thread. Level self, and it can be carried out, by UPDATE_QUEUE. */
bool hold_by_updates(void);

/* Before a CREATE_QUEUE on `fd`: what UPDATE_QUEUE needs, if a level wants that. Not
 * under the agent's lock; keeps errno. */
void hold_device(const struct kfdshim_host *host, int fd);
/* RUNTIME_ENABLE has succeeded on `fd`, or is about to be undone. This opens the
 * session at level `self`, and at `auto` and `trap` if there is no daemon and a peer
 * may hold this process; else the first hold does. Or it ends it: the driver's runtime
 * disable would sleep with one. Not under the agent's lock; both keep errno. */
void hold_runtime_on(const struct kfdshim_host *host, int fd);
void hold_runtime_off(void);

/* Any thread, around a call of the driver that a suspended process would sleep in
 * (DESTROY_QUEUE, runtime disable): resumes first and stays away until the end.
 * Not under the lock. */
void hold_leave_begin(void);
void hold_leave_end(void);
/* After a CREATE_QUEUE, not under the lock: of a held process the new queue is
 * held too, by the agent's thread, at its next turn. */
void hold_queue_created(const struct queue *queue);

/* Fork child. */
void hold_forget(void);

#endif
