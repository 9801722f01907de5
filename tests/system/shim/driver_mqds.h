/* SPDX-License-Identifier: MIT */
#ifndef KFDSHIM_TESTS_DRIVER_MQDS_H
#define KFDSHIM_TESTS_DRIVER_MQDS_H

#include <stdint.h>
#include <sys/types.h>

/* The priority that the driver has written into a compute queue's descriptor, of
 * debugfs kfd/mqds (Linux 6.12; gfx9): the process's queue with this ring. It lags by
 * some 20 ms. -1: the queue is not there; debugfs needs root. */
int driver_mqds_priority(pid_t pid, uint64_t ring);

#endif
