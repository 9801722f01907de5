/* SPDX-License-Identifier: MIT */
/*
 * Executors (executor.h), the watchdog's side. It starts executor processes when the worker
 * requests them. It ends a process that is stopped, or that has had the same driver call for 10
 * s (the firmware's own timeout is 9 s). Before the kill, the threads of the process have 200 ms
 * to end their sessions, which resumes their targets. The driver ends the remaining sessions
 * when the last thread has ended.
 *
 * Threads: the watchdog, which has one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTORS_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct executors;
struct executor_table;

/*
 * The main function of an executor process (kfdschedd-exec). It has one thread for each target of a
 * tenant, one that takes new targets, and one that waits for events of sessions and for signals of
 * targets. Serves the slots of process `number`, and writes
 * `done_fd` when there is an outcome. `refused` as in privileges.h.
 *
 * Returns the exit code of the process: 0 after 3 s without a target, because the driver refuses
 * to change the partitions of a GPU while a process has /dev/kfd open.
 */
int executor_run(struct executor_table *table, uint32_t number, int done_fd, uint64_t *refused);

/* Creates the table and the eventfds. `files`: the descriptors that executor processes do not need
 * and close when they start (-1: none); must stay valid. `refused` as in privileges.h. Returns
 * NULL with errno on failure. */
struct executors *executors_create(const int *files, size_t count, uint64_t *refused);

/* For the worker: the table; the eventfd that is written when there is an outcome; and the
 * eventfd by which the worker requests a process, on which the watchdog waits. */
struct executor_table *executors_table(struct executors *executors);
int executors_done_fd(const struct executors *executors);
int executors_want_fd(const struct executors *executors);

/* Closes both eventfds, in a process that uses neither. */
void executors_close(const struct executors *executors);

/* Called in each iteration of the watchdog's loop: starts, checks and ends executor processes.
 * Does not return in a new executor process. `children`: a child may have ended or stopped since
 * the last call. `now` is CLOCK_MONOTONIC in ns. */
void executors_check(struct executors *executors, bool children, uint64_t now);

/* The worker has ended: ends all executor processes, in the same way. */
void executors_kill(struct executors *executors, uint64_t now);

/* Empties the table before a worker starts, except for processes that cannot be killed. */
void executors_reset(struct executors *executors, uint64_t now);

/* Returns true if the last process has ended. */
bool executors_gone(const struct executors *executors);

#endif
