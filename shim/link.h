/* SPDX-License-Identifier: MIT */
/*
 * The link to the daemon: handshake, orders, and its end. What goes through the lane that
 * comes with it: link_lane.h.
 */
#ifndef KFDSHIM_SHIM_LINK_H
#define KFDSHIM_SHIM_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* The sampler's thread only. link_step connects, at most once a second, takes
 * the welcome, and returns when it wants to be called again (CLOCK_MONOTONIC
 * ns, UINT64_MAX: not by itself; so it is where there is neither a daemon nor a
 * queue). link_socket: to be polled for reading, -1: none. link_readable: it can
 * be read. */
uint64_t link_step(uint64_t now_ns);
int link_socket(void);
void link_readable(void);
/* The sampler's thread: no daemon is there, or it says nothing. */
bool link_alone(void);
/* Any thread, not under the lock: a daemon has taken this process, or would be there
 * to be asked. Keeps errno. */
bool link_has_daemon(void);

/* Fork child: lets go of everything, the lane too; the parent's stays as it is. */
void link_forget(void);

#endif
