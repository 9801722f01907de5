/* SPDX-License-Identifier: MIT */
/*
 * A process that the watchdog starts and starts again: the worker, and the processes
 * that serve it. Each ends with the watchdog (PR_SET_PDEATHSIG).
 *
 * All functions are for the watchdog, which has one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CHILD_H
#define KFDSHIM_SCHEDULER_DAEMON_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	const char *name; /* of the process, at most 15 characters; the caller owns it */
	pid_t pid;	  /* 0: it does not run */
	bool killed;	  /* by child_kill(), and not reaped yet */
	unsigned quick_deaths;
	uint64_t since_ns;	/* when it was started last; 0: never */
	uint64_t next_start_ns; /* not before */
};

/*
 * Forks. Returns 0 in the new process, which ends with _exit(); in the watchdog the
 * process id, or a negative errno after a log line (`next_start_ns` is set then).
 * `now`: CLOCK_MONOTONIC in ns, as everywhere here.
 */
pid_t child_start(struct child *child, uint64_t now);

/* Has it ended? true once per process, with its status as of waitpid(2). */
bool child_reap(struct child *child, int *status);

/* Is it stopped (SIGSTOP)? */
bool child_is_stopped(const struct child *child);

/*
 * After child_reap(): logs the end and sets when the process may start again. A process
 * that ends within 5 s twice in a row waits 100 ms, then 200 ms, up to 5 s.
 */
void child_failed(struct child *child, int status, uint64_t now);

/* SIGKILL, once. Nothing if it does not run. */
void child_kill(struct child *child);

#endif
