/* SPDX-License-Identifier: MIT */
/*
 * The driver's list of a process's queues: GET_QUEUE_SNAPSHOT by a debug session on the process. An
 * error ends the program (tests/matrix/step.h).
 */
#ifndef KFDSHIM_TESTS_DRIVER_SNAPSHOT_H
#define KFDSHIM_TESTS_DRIVER_SNAPSHOT_H

#include <stdint.h>
#include <sys/types.h>

#include "kfd/uapi.h"

/* Opens the session; called once, by the thread that will call driver_snapshot(). Nothing is
 * suspended by it. The process must be a child of this one and have its runtime enabled. */
void driver_snapshot_open(pid_t pid);
/* Returns the number of all queues of the process, compute and SDMA. *out belongs to this module
 * and is valid until the next call. */
uint32_t driver_snapshot(const struct kfdabi_queue_snapshot **out);

#endif
