/* SPDX-License-Identifier: MIT */
/*
 * State of client_level.c for one client.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CLIENTS_LEVEL_STATE_H
#define KFDSHIM_SCHEDULER_DAEMON_CLIENTS_LEVEL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/client_shm.h"
#include "channel/protocol.h"
#include "kfd/device.h"

struct level {
	enum protocol_level wanted; /* KFDSHIM_LEVEL, or the level of its rule */
	/* it changes to `to`; CLIENT_SHM_LEVEL_NONE: to a session of the daemon (level trap) */
	bool changing;
	enum client_shm_level to;
	/* a suspend failed, several were slow, or the driver does not support it */
	bool never_trap;
	bool unseen;   /* the obstacle to tracing it cannot be observed from outside */
	bool unjudged; /* it is not known yet whether `unseen` holds */
	bool logged;   /* the level was logged since the client was last at level trap */
	/* why it is not at level trap, as trap_attach() returns it; 0: trap is possible */
	int error;
	char why[KFD_REASON]; /* `error` as a sentence */
	uint64_t climb_ns;    /* time of the next attempt to reach level trap; 0: none */
	uint64_t pause_ns;    /* delay between two attempts, ns */
	uint64_t attached_ns; /* when its session was opened; 0: it has none */
	/* of a client with the only debug session of a GPU: idle since, and its activity
	 * transitions then */
	uint64_t idle_ns, transitions;
};

#endif
