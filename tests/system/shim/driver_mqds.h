/* SPDX-License-Identifier: MIT */
#ifndef KFDSHIM_TESTS_DRIVER_MQDS_H
#define KFDSHIM_TESTS_DRIVER_MQDS_H

#include <stdint.h>
#include <sys/types.h>

/* Returns the priority in the MQD of a compute queue, from debugfs kfd/mqds (Linux 6.12; gfx9). The
 * queue is the one of process `pid` with this ring address. The file lags by some 20 ms. Returns -1
 * if the queue is not there. debugfs needs root. */
int driver_mqds_priority(pid_t pid, uint64_t ring);

#endif
