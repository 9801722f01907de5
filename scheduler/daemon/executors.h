/* SPDX-License-Identifier: MIT */
/*
 * The watchdog's side of the executors (executor.h): it starts their processes when the
 * worker asks, and kills one that is stopped, or whose driver call has not returned after
 * 10 s (the firmware's own timeout is 9 s). Its other threads are asked to end their sessions
 * first, for 200 ms, which resumes their targets; the driver does that for the rest when the
 * last thread has ended.
 *
 * All functions are for the watchdog, which has one thread.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTORS_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTORS_H

#include <stdbool.h>
#include <stdint.h>

struct executors;
struct executor_table;

/* NULL with errno: it cannot be. `refused` as in filter.h. */
struct executors *executors_create(uint64_t *refused);
/* For the worker's process: the table; the eventfd that is written when there is an outcome;
 * and the one by which the worker asks for a process, which the watchdog waits for. */
struct executor_table *executors_table(struct executors *executors);
int executors_done_fd(const struct executors *executors);
int executors_want_fd(const struct executors *executors);
/* In a process that serves neither: closes both. */
void executors_close(const struct executors *executors);
/* A descriptor that their processes do not need, and close; at most 16. -1: nothing. */
void executors_without(struct executors *executors, int fd);

/* At every turn of the watchdog's loop; in a new executor process it does not return.
 * `children`: a child may have ended or stopped since the last time. */
void executors_look(struct executors *executors, bool children, uint64_t now);
/* The worker has ended: all of their processes do, in the same way. */
void executors_kill(struct executors *executors, uint64_t now);
/* Before a worker starts: the table is empty, but for what cannot be ended. */
void executors_reset(struct executors *executors, uint64_t now);
/* Has the last process ended? */
bool executors_gone(const struct executors *executors);

#endif
