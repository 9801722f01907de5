/* SPDX-License-Identifier: MIT */
/*
 * Messages between the worker and kfdschedd-read (reader.h), one packet each; and the longest of the
 * reads by which the latter makes an answer.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_READER_READER_MESSAGE_H
#define KFDSHIM_SCHEDULER_DAEMON_READER_READER_MESSAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "scheduler/daemon/config/match_rules.h"
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
	uint64_t number; /* number of the request, repeated in its answer */
	uint32_t what;
	pid_t pid;
	pid_t other; /* READER_NUMBER: the number to translate, in the PID namespace of `pid` */
};

struct reader_reply {
	uint64_t number;
	int32_t result;	  /* return value of the function */
	uint64_t took_ns; /* ns from the request's arrival to this answer */
	union {
		struct peer_facts facts; /* also with READER_TARGET */
		struct proc_attrs subject;
	};
	char problem[READER_PROBLEM]; /* READER_TARGET: one sentence */
};

/*
 * Checks a process that a request or a rule names by pid: is it the intended process, and can it be
 * an external process (external.h)? It does not know the daemon, so only /proc and sysfs are
 * available. All that is read belongs to one process and not to a later one with the same pid.
 *
 * Returns as peer_read(), or a negative errno with one sentence in `problem`:
 *   -ESRCH: no such process (wrong number, another namespace, a zombie);
 *   -EINVAL: it cannot have a priority (a thread, a kernel thread, the daemon itself);
 *   -ENODEV: it does not use the driver, or is not found in the driver's list;
 *   -EEXIST: it has the shim;
 *   -EACCES: its namespaces cannot be read.
 */
int target_read(pid_t pid, struct peer_facts *out, char *problem, size_t size);

#endif
