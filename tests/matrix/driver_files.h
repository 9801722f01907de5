/* SPDX-License-Identifier: MIT */
/* What the driver's files say of the calling process and of the hardware slots. */
#ifndef KFDSHIM_TESTS_MATRIX_DRIVER_FILES_H
#define KFDSHIM_TESTS_MATRIX_DRIVER_FILES_H

/* Queues of this process in sysfs (kfd/proc/PID/queues); negative errno. */
int queues_listed(void);
/* Compute slots of all GPUs and XCCs whose CP_HQD_ACTIVE is set in debugfs hqds;
 * negative errno. Needs root. */
int hqds_active(void);

#endif
