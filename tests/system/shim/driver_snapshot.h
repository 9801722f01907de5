/* SPDX-License-Identifier: MIT */
/*
 * The driver's own word for which queues a process has: GET_QUEUE_SNAPSHOT by a
 * debug session on it. What fails ends the program (tests/matrix/step.h).
 */
#ifndef KFDSHIM_TESTS_DRIVER_SNAPSHOT_H
#define KFDSHIM_TESTS_DRIVER_SNAPSHOT_H

#include <stdint.h>
#include <sys/types.h>

#include "abi/kfd_abi.h"

/* Opens the session, once, by the thread that will ask; nothing is suspended by it.
 * The process is a child of this one and has its runtime enabled. */
void driver_snapshot_open(pid_t pid);
/* All queues of it, compute and SDMA; returns how many, *out stays ours. */
uint32_t driver_snapshot(const struct kfdabi_queue_snapshot **out);

#endif
