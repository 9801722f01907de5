/* SPDX-License-Identifier: MIT */
/*
 * The driver, played: queues that take time for their work, debug sessions that suspend them, and
 * calls that take time, fail or are slow. It fails the run where its rules are broken: the resume
 * of what is not suspended, a suspend of SDMA queues, a call from a thread that does not trace.
 */
#ifndef KFDSHIM_TESTS_SEEDED_DRIVER_H
#define KFDSHIM_TESTS_SEEDED_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/system/seeded/process.h"

/* Their gpu_ids count from the first on. */
#define DRIVER_NODES 2u
#define DRIVER_NODE 100u

/* Of each run. */
struct driver_ways {
	bool tracer_only;      /* before Linux 6.12.103 */
	uint64_t suspend_ns;   /* at most */
	unsigned fails_one_in; /* suspends; 0: none */
	unsigned slow_one_in;  /* the same: they take 60 ms */
	bool no_trace;	       /* no process may trace another */
	bool destroy_may_fail; /* DESTROY_QUEUE of a suspended queue, in half of the runs */
};

/* Of one process. */
struct driver_view {
	bool session;		    /* there is one on it */
	uint64_t session_ns;	    /* since when */
	bool work;		    /* a queue has some */
	uint64_t work_ns;	    /* since when there is some without a break */
	bool suspended;		    /* a queue is */
	uint64_t suspended_ns;	    /* since when */
	uint64_t running_ns;	    /* since when a queue has work and is not suspended; 0 */
	bool spared;		    /* a suspend of it has failed, or was slow */
	unsigned slow;		    /* were slow, so many in a row, and not of new queues alone */
	unsigned suspends, resumes; /* that succeeded */
};

/* After so many in a row no session is to follow. The daemon's rule is about those that its core has
 * asked for (CORE_SLOW_MAX); the first one of a session is not. */
#define DRIVER_SLOW_MAX 8u

void driver_begin(const struct driver_ways *ways);
void driver_end(void);
/* How many sessions and queues there are. */
unsigned driver_sessions(void);
unsigned driver_queues(void);
/* ioctl(2) on a descriptor of /dev/kfd that `owner` has opened. */
int driver_call(struct process *owner, unsigned long request, void *argument);
/* The next packet of a queue takes that long; then its read pointer and *signal (which becomes
 * 0) say so. */
void driver_submit(struct process *process, uint32_t queue, uint64_t ns, int64_t *signal);
void driver_process_ended(struct process *process);
/* false: it has not used the driver. */
bool driver_look(const struct process *process, struct driver_view *out);

/* ptrace(2): 0 or a negative errno. */
int driver_seize(pid_t pid);
int driver_let_go(pid_t pid);
/* Has it ended, and is traced by the caller's process? */
bool driver_traced_ended(pid_t pid);

#endif
