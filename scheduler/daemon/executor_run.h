/* SPDX-License-Identifier: MIT */
/*
 * An executor process: one thread for each target of a tenant, one that takes new targets,
 * and one that waits for events of sessions and for signals of targets.
 *
 * Threads: executor_run() is a process' first, and the only function.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_RUN_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_RUN_H

#include <stdint.h>

struct executor_table;

/* Serves the slots of process `number`, and writes done_fd when there is an outcome. Returns
 * the exit code: 0 after 3 s without a target. The driver refuses to change a card's
 * partitions while a process has /dev/kfd open. `refused` as in filter.h. */
int executor_run(struct executor_table *table, uint32_t number, int done_fd, uint64_t *refused);

#endif
