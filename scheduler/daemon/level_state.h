/* SPDX-License-Identifier: MIT */
/* What level.c keeps of one client. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_LEVEL_STATE_H
#define KFDSHIM_SCHEDULER_DAEMON_LEVEL_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "channel/lane.h"
#include "channel/protocol.h"
#include "scheduler/kfd/device.h"

struct level {
	enum protocol_level asked; /* KFDSHIM_LEVEL */
	bool changing;		   /* it is on its way to `to`, by a session if that is NONE */
	enum lane_level to;
	bool never_trap; /* a suspend failed, or several were slow */
	bool unseen;	 /* what forbids tracing it cannot be seen from outside */
	bool unjudged;	 /* whether that is so is not known yet */
	bool told;	 /* the log has it, since it was last at trap */
	int error;	 /* why not trap, as of trap_attach(); 0: it may be trap */
	char why[KFD_REASON];
	uint64_t climb_ns; /* the next try for trap; 0: none */
	uint64_t pause_ns; /* between two of them */
	uint64_t attached_ns;
	/* on who has the one session of a GPU: idle since, with so many transitions */
	uint64_t idle_ns, transitions;
};

#endif
