/* SPDX-License-Identifier: MIT */
/*
 * The process that accepts connections (kfdschedd-door). It has no capability, no device
 * and no debug session, so what a stranger sends can hold up nothing but it: it receives
 * each client's hello, sees that nothing is left in the connection, shuts it for reading,
 * and passes connection and hello to the worker. So the worker never receives, and never
 * closes, a descriptor of a client's choice, whose close may block (a file of FUSE, a TCP
 * socket with SO_LINGER). Users have turns, root before each, and the channel holds a few
 * connections only, so that no user waits behind all the connections of another.
 *
 * Where the kernel can refuse descriptors (SO_PASSRIGHTS, Linux 6.16), none arrive. On
 * older kernels a connection with descriptors is found by MSG_PEEK, before any of them
 * is received, and left to a process of its own to close, of which GREETER_SINKS may be
 * stuck at a time; then only root's socket is served until one has ended.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_GREETER_H
#define KFDSHIM_SCHEDULER_DAEMON_GREETER_H

#include <stdint.h>

#include "channel/protocol.h"
#include "scheduler/daemon/beat.h"
#include "scheduler/daemon/reload.h"

#define GREETER_PENDING 512u /* connections without a hello at a time */
#define GREETER_SINKS 64u

/* A packet to the worker, with the connection as its one descriptor. */
struct greeter_message {
	uint64_t accepted_ns;	     /* CLOCK_MONOTONIC */
	struct protocol_hello hello; /* as the client sent it: hostile */
};

struct greeter {
	int listener, root_listener; /* root_listener: -1 if there is none */
	int channel;		     /* SOCK_SEQPACKET, non-blocking, short: to the worker */
	const struct reload *reload; /* for the owners of uids */
	struct door_beat *beat;
};

/* Runs until it is killed. Returns the exit code if it cannot. */
int greeter_run(const struct greeter *greeter);

#endif
