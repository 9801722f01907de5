/* SPDX-License-Identifier: MIT */
/*
 * Connection to the daemon: performs the handshake, carries out hold commands, and disconnects.
 * publish.h has the shared memory that comes with the connection.
 */
#ifndef KFDSHIM_SHIM_LINKS_DAEMON_LINK_H
#define KFDSHIM_SHIM_LINKS_DAEMON_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* Connects at most once a second, receives the daemon's welcome, carries out hold commands, and
 * disconnects from a daemon that is silent. Sampler's thread only. Returns the time of the next
 * call, CLOCK_MONOTONIC ns; UINT64_MAX while connected, and while there is neither a daemon nor a
 * queue: no call is needed then. */
uint64_t link_step(uint64_t now_ns);
/* Returns the socket to poll for reading, or -1 if there is none. Sampler's thread only. */
int link_socket(void);
/* Reads the wake packets of the daemon, and notices a hang-up. To be called when link_socket() is
 * readable. Sampler's thread only. */
void link_readable(void);
/* Returns true if no daemon serves this process: the last connect has failed, or the last
 * connection has ended. Sampler's thread only. */
bool link_alone(void);

/* Closes the connection and unmaps the shared memory in a fork child. The parent keeps its
 * connection and its mapping. */
void link_forget(void);

#endif
