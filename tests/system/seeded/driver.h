/* SPDX-License-Identifier: MIT */
/*
 * A mock of the driver: queues whose work takes time, debug sessions that suspend queues, and calls
 * that take time, fail or are slow. It fails the run if a call breaks the driver's rules: the
 * resume of a queue that is not suspended, a suspend of SDMA queues, a call from a thread that does
 * not trace.
 *
 * Threads: fibers of one real thread (fiber.h).
 */
#ifndef KFDSHIM_TESTS_SEEDED_DRIVER_H
#define KFDSHIM_TESTS_SEEDED_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/system/seeded/process.h"

/* Number of nodes, and the gpu_id of the first; the others follow. */
#define DRIVER_NODES 2u
#define DRIVER_NODE 100u

/* Behaviour of the driver during one run. */
struct driver_ways {
	bool tracer_only;      /* rule of Linux before 6.12.103 */
	uint64_t suspend_ns;   /* maximum duration */
	unsigned fails_one_in; /* one suspend in this number fails; 0: none */
	unsigned slow_one_in;  /* one suspend in this number takes 60 ms; 0: none */
	bool no_trace;	       /* no process is allowed to trace another */
	bool destroy_may_fail; /* DESTROY_QUEUE of a suspended queue fails, in half of the runs */
};

/* State of one process. All times are ns of the simulated clock. */
struct driver_view {
	bool session;	       /* there is a session on it */
	uint64_t session_ns;   /* start of the session */
	bool work;	       /* a queue has work */
	uint64_t work_ns;      /* time since which there is work without a break */
	bool suspended;	       /* a queue is suspended */
	uint64_t suspended_ns; /* start of that */
	/* time since which a queue has work and is not suspended; 0: none */
	uint64_t running_ns;
	bool exempt; /* a suspend of it has failed or was slow */
	/* slow suspends in a row, not counting those of new queues only */
	unsigned slow;
	unsigned suspends, resumes; /* number of successful ones */
};

/* After this number of slow suspends in a row there must not be another session. The daemon's own
 * rule (CORE_SLOW_MAX) counts the suspends that its core has ordered, which the first one of a
 * session is not. */
#define DRIVER_SLOW_MAX 8u

/* Starts the driver of a run, and releases it after the run. */
void driver_begin(const struct driver_ways *ways);
void driver_end(void);
/* number of successful suspends of all runs */
extern uint64_t driver_suspends;
/* Return the number of sessions and of queues. */
unsigned driver_sessions(void);
unsigned driver_queues(void);
/* Executes ioctl(2) on a descriptor of /dev/kfd that `owner` has opened. Returns the result, or -1
 * and sets errno. */
int driver_call(struct process *owner, unsigned long request, void *argument);
/* Makes the next packet of a queue take `ns`. After that the read pointer moves and *signal becomes
 * 0. */
void driver_submit(struct process *process, uint32_t queue, uint64_t ns, int64_t *signal);
/* Ends the sessions on the process and by it, and releases its queues. */
void driver_process_ended(struct process *process);
/* Returns the state of a process in `out`, or false if it has not used the driver. */
bool driver_check(const struct process *process, struct driver_view *out);

/* PTRACE_SEIZE and PTRACE_DETACH by the calling fiber. Return 0 or a negative errno. */
int driver_seize(pid_t pid);
int driver_let_go(pid_t pid);
/* Returns whether the process has ended and the caller's process traces it. */
bool driver_traced_ended(pid_t pid);

#endif
