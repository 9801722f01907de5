/* SPDX-License-Identifier: MIT */
/*
 * The device /dev/kfd: opens it for debug sessions, and finds the processes that have it open. Used
 * by kfdsched, and by the executors (the daemon's processes that make debug calls).
 *
 * Threads: any. No state is kept. Errors: negative errno.
 */
#ifndef KFDSHIM_KFD_DEVICE_H
#define KFDSHIM_KFD_DEVICE_H

#include "kfd/reason.h"

/*
 * Opens /dev/kfd (close-on-exec) for debug sessions. Checks that the interface has DBG_TRAP (KFD
 * 1.13, Linux 6.5) and that the driver saves running waves (kfd/topology.h).
 *
 * Only the process that opens the fd can use it, because the driver compares thread group leaders.
 * While it is open, the partition mode of the card cannot be changed; so it should be opened only
 * when it is needed. The caller closes it.
 *
 * Returns the fd, or a negative errno with `reason` set:
 * -EOPNOTSUPP  the driver is too old, or does not save waves
 * Errors of open(2) and of the version ioctl are passed on.
 */
int kfd_device_open(struct reason *reason);

/*
 * Checks whether a process has /dev/kfd open, under any file name.
 *
 * tries: limit of the entries of /proc/PID/fd that are checked, "." and ".." included.
 * Returns 1 or 0, or a negative errno:
 * -E2BIG  the limit was reached and the device was not among the entries checked
 * other   there is no /dev/kfd here, there is no such process, or its fds may not be read
 */
int kfd_device_opened_by(pid_t pid, unsigned tries);

#endif
