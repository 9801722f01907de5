/* SPDX-License-Identifier: MIT */
/*
 * Which level a client has, why, and how it gets another.
 *
 * KFDSHIM_LEVEL=auto: trap where it works. Where it does not, the client is ordered to
 * open a debug session on itself (self), where that can help: nobody needs the right to
 * trace for it. Else, or if it cannot either, gate is the floor. What stood in the way
 * is kept, and tried again: after 1 s, then 2, 4, up to 30 s; what can be looked at from
 * outside (is it traced?), each second. After a suspend that failed, or several that were slow, the way
 * back is closed. Every other level is what it was asked to be, or observe, with the
 * reason; trap is tried again like auto's.
 *
 * On parts that have one debug session a GPU, of those that use the GPU the first has
 * it; when it was idle for a second, and nothing was moved for two, it goes to one that
 * has work.
 *
 * All functions for the loop's thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LEVEL_H
#define KFDSHIM_SCHEDULER_DAEMON_LEVEL_H

#include "scheduler/daemon/client.h"

/* A client says hello with `asked`, which may be anything. */
void level_begin(struct client *client, uint32_t asked);
/* The level it has does not work, or not any more: why, and the errno as of
 * trap_attach(). -EIO: the firmware failed, or was slow. */
void level_fall(struct worker *worker, struct client *client, int error, const char *why,
		uint64_t now);
/* A suspend failed (error), or several in a row were slow (0). */
void level_failed(struct worker *worker, struct client *client, int error, uint64_t now);
/* It has a session of the daemon. */
void level_risen(struct client *client, uint64_t now);
/* It has done, or could not do, what order_prepare() asked for. */
void level_prepared(struct worker *worker, struct client *client, int error, uint64_t now);
/* What it had at its level is gone: from the beginning, at the same level. */
void level_again(struct worker *worker, struct client *client);
/* At every turn of the loop. */
void level_step(struct worker *worker, struct client *client, uint64_t now);

/* May it have another level than the one it asked for? */
bool level_may_change(const struct client *client);
/* It has no level at the moment. */
bool level_is_changing(const struct client *client);
/* Says in its `reason` why it has not a higher level. false: it has none to say. */
bool level_explain(struct client *client);
/* Tells that, once, in the log and as an event. */
void level_tell(struct worker *worker, struct client *client);

#endif
