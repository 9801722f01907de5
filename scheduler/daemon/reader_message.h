/* SPDX-License-Identifier: MIT */
/* What worker and kfdschedd-read (reader.h) say to each other: one packet each. */
#ifndef KFDSHIM_SCHEDULER_DAEMON_READER_MESSAGE_H
#define KFDSHIM_SCHEDULER_DAEMON_READER_MESSAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/match.h"
#include "scheduler/daemon/peer.h"

#define READER_PROBLEM 256u

enum reader_what {
	READER_FACTS,
	READER_SUBJECT,
	READER_NUMBER,
	READER_TARGET,
	READER_HAS_SHIM,
	READER_DESTROYS,
	READER_RIGHT_HAS_COME,
};

struct reader_request {
	uint64_t number; /* of the request, in its answer */
	uint32_t what;
	pid_t pid;
	pid_t other; /* READER_NUMBER: which number in the PID namespace of `pid` */
};

struct reader_answer {
	uint64_t number;
	int32_t result;
	uint64_t took_ns; /* from the request to this answer */
	union {
		struct peer_facts facts; /* also of READER_TARGET */
		struct subject subject;
	};
	char problem[READER_PROBLEM];
};

#endif
