/* SPDX-License-Identifier: MIT */
/*
 * Executors; first the functions for the worker, below those for the watchdog. An executor is a
 * thread that makes all driver calls on one target for as long as the target is registered, because
 * before Linux 6.12.103 only the thread that traces a target can make them. The threads for the
 * targets of one tenant are in one process (executor_run.c), which the watchdog starts
 * (executors.c). So a driver call that cannot be killed blocks the sessions of one tenant only.
 *
 * Threads: the worker's loop only, except executor_send().
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "scheduler/daemon/executor/executor_table.h"

/* Initializes the module. `table` was prepared by the watchdog (executors_create()); `want_fd` is
 * the eventfd by which the worker requests a process. Call it before any other function. */
void executor_use(struct executor_table *table, int want_fd);

/*
 * Starts an executor for process `pid`. The executor first attaches to the process (opens a debug
 * session on it). `started` is the start time as in struct socket_peer. `patient`: try for 2 s,
 * because an earlier debugger may still be ending.
 *
 * A user that is not trusted can have half of the processes and of the slots, and none of the last
 * sixteenth, which is for root and the daemon's own user. If an owner has half of the processes,
 * its tenants share them.
 *
 * Returns
 *   0, and the executor in *out; executor_free() frees it;
 *   -EBUSY: too many processes of this tenant do not end;
 *   -ENOSPC: no room in the table, or the owner has reached its limit.
 */
int executor_start(pid_t pid, uint64_t started, const struct executor_tenant *tenant, bool patient,
		   struct executor **out);

/* Adds requests (enum executor_request) and wakes the executor. Can be called by any process
 * that has mapped the table. */
void executor_send(struct executor *executor, uint32_t requests);

/* Returns the number of an executor, unique among present ones, below EXECUTOR_SLOTS. */
uint32_t executor_number(const struct executor *executor);

/* Marks the executors whose process has ended or was killed as EXECUTOR_ABORTED, and calls
 * `on_report` with the number of each executor that may have an outcome (enum executor_outcome)
 * since the last call. Called when done_fd was written. */
void executor_collect(void (*on_report)(uint32_t number, void *context), void *context);

/* Returns the outcomes (enum executor_outcome) and clears them. With EXECUTOR_ACTED, *report is the
 * result of the action. With EXECUTOR_ATTACHED, it is the cost of ENABLE or of the first suspend,
 * whichever took longer. */
uint32_t executor_take(struct executor *executor, struct executor_report *report);

/* Returns the reason for EXECUTOR_REFUSED; its error is the result of trap_attach(). */
struct reason executor_reason(const struct executor *executor);

/* Returns true if the target's runtime is enabled (RUNTIME_ENABLE), as events of the session have
 * reported. */
bool executor_runtime(const struct executor *executor);

/* Writes to `out` the queues of the target that have a fault, as trap_exceptions() does. They are
 * those in the last queue snapshot (the driver's list of the queues) of the debug session, which is
 * taken when it begins and when the queues of the target change. Returns their number. */
uint32_t executor_exceptions(const struct executor *executor, uint64_t out[EXECUTOR_EXCEPTIONS]);

/* Frees an executor after EXECUTOR_ENDED. */
void executor_free(struct executor *executor);

/* Counts the executor processes, and those of them that were killed and have not ended yet. */
void executor_count(uint32_t *processes, uint32_t *stuck);

/* ---- the watchdog's side ---- */

/*
 * The watchdog starts executor processes when the worker requests them. It ends a process that is
 * stopped, or that has been in the same driver call for 10 s (the firmware's own timeout is 9 s).
 * Before the kill, the threads of the process have 200 ms to end their sessions, which resumes
 * their targets. The driver ends the remaining sessions when the last thread has ended.
 *
 * Threads: the watchdog, which has one thread.
 */
struct executors;

/*
 * The main function of an executor process (kfdschedd-exec). The process has one thread for each
 * target of a tenant, one that takes new targets, and one that waits for events of sessions and for
 * signals of targets. It serves the slots of process `number`, and writes `done_fd` when there is
 * an outcome. `refused` as in privileges.h.
 *
 * Returns the exit code of the process: 0 after 3 s without a target, because the driver refuses to
 * change the partitions of a GPU while a process has /dev/kfd open.
 */
int executor_run(struct executor_table *table, uint32_t number, int done_fd, uint64_t *refused);

/* Creates the executor table and the eventfds. `files`: descriptors that executor processes close
 * when they start, because they do not need them (-1: none); the array must stay valid. `refused`
 * as in privileges.h. Returns NULL with errno on failure. */
struct executors *executors_create(const int *files, size_t count, uint64_t *refused);

/* Return what the worker needs: executors_table() the table, executors_done_fd() the eventfd that
 * is written when there is an outcome, executors_want_fd() the eventfd by which the worker requests
 * a process and on which the watchdog waits. */
struct executor_table *executors_table(struct executors *executors);
int executors_done_fd(const struct executors *executors);
int executors_want_fd(const struct executors *executors);

/* Closes both eventfds; called in a process that uses neither. */
void executors_close(const struct executors *executors);

/* Starts, checks and ends executor processes; called in each iteration of the watchdog's loop. Does
 * not return in a new executor process. `children`: a child may have ended or stopped since the
 * last call. `now` is CLOCK_MONOTONIC in ns. */
void executors_check(struct executors *executors, bool children, uint64_t now);

/* Ends all executor processes, as executors_check() does, because the worker has ended. */
void executors_kill(struct executors *executors, uint64_t now);

/* Empties the executor table before a worker starts, except for processes that cannot be killed. */
void executors_reset(struct executors *executors, uint64_t now);

/* Returns true if no executor process runs any more. */
bool executors_gone(const struct executors *executors);

#endif
