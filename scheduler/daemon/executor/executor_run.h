/* SPDX-License-Identifier: MIT */
/*
 * An executor process (kfdschedd-exec). It has one thread for each target of a tenant, one that
 * takes new targets, and one that waits for events of sessions and for signals of targets.
 *
 * Threads: executor_run() is called by the first thread of the process.
 */
#ifndef KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_RUN_H
#define KFDSHIM_SCHEDULER_DAEMON_EXECUTOR_EXECUTOR_RUN_H

#include <stdint.h>

struct executor_table;

/*
 * The main function of an executor process. Serves the slots of process `number`, and writes
 * `done_fd` when there is an outcome. `refused` as in seccomp_filter.h.
 *
 * Returns the exit code of the process: 0 after 3 s without a target, because the driver refuses
 * to change the partitions of a GPU while a process has /dev/kfd open.
 */
int executor_run(struct executor_table *table, uint32_t number, int done_fd, uint64_t *refused);

#endif
