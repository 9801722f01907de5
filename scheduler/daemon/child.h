/* SPDX-License-Identifier: MIT */
/*
 * A child process that the watchdog starts, and restarts when it ends: the worker, and the
 * processes that serve it. The kernel kills each of them when the watchdog ends
 * (PR_SET_PDEATHSIG).
 *
 * Times are CLOCK_MONOTONIC in ns.
 *
 * Threads: the watchdog, which has one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_CHILD_H
#define KFDSHIM_SCHEDULER_DAEMON_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon_child {
	const char *name;      /* process name (comm), at most 15 characters; owned by the caller */
	pid_t pid;	       /* 0: not running */
	bool killed;	       /* child_kill() was called, and the process is not reaped yet */
	unsigned quick_deaths; /* number of ends in a row that were within 5 s of the start */
	uint64_t since_ns;     /* time of the last start; 0: never started */
	uint64_t next_start_ns; /* earliest time of the next start */
};

/*
 * Forks a child process. In the new process, sets the parent-death signal and the process name;
 * that process must end with _exit().
 *
 * Returns
 *   0 in the new process;
 *   the process id in the watchdog;
 *   a negative errno if fork() failed, after a log line. `next_start_ns` is then set to 5 s
 *     later.
 */
pid_t daemon_child_start(struct daemon_child *child, uint64_t now);

/* Reaps the process if it has ended. Returns true once for each process that ended, with its
 * status as waitpid(2) reports it. Does not block. */
bool child_reap(struct daemon_child *child, int *status);

/* Returns true if the process is stopped by a signal (SIGSTOP). */
bool child_is_stopped(const struct daemon_child *child);

/* Logs the end of a process that child_reap() has returned, and sets the earliest time of the next
 * start. The restart is delayed if the process has ended within 5 s of its start twice in a row: by
 * 100 ms, then 200 ms, and so on up to 5 s. */
void child_failed(struct daemon_child *child, int status, uint64_t now);

/* Sends SIGKILL once. Does nothing if the process does not run or was killed before. */
void child_kill(struct daemon_child *child);

#endif
