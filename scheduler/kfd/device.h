/* SPDX-License-Identifier: MIT */
/*
 * /dev/kfd as the daemon's executor processes hold it, and which nodes the driver has.
 */
#ifndef KFDSHIM_SCHEDULER_KFD_DEVICE_H
#define KFDSHIM_SCHEDULER_KFD_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KFD_REASON 256 /* room for one sentence */

/*
 * Opens /dev/kfd (close-on-exec) and checks that its interface knows
 * DBG_TRAP: KFD 1.13, Linux 6.5; and that the driver saves waves (cwsr.h).
 * Returns the descriptor or a negative errno with the reason written. Only the process that opens it can use it (the
 * driver compares thread group leaders), and while it is open the card's
 * partition mode cannot be changed, so open it when it is needed.
 */
int kfd_device_open(char reason[static KFD_REASON]);

/*
 * Has a process /dev/kfd open, by whatever name? 1: yes; 0: no; -E2BIG: it has more than
 * `looks` descriptors, and the device is not among the first. Other negative errnos: there
 * is no /dev/kfd here, no such process, or its descriptors are not ours to see.
 */
int kfd_device_opened_by(pid_t pid, unsigned looks);

/* gpu_ids of the nodes in sysfs, at most `max`; CPUs have none. */
size_t kfd_device_nodes(uint32_t *gpu_ids, size_t max);

#endif
