/* SPDX-License-Identifier: MIT */
/* Reads the queues of the calling process and the hardware slots from the driver's files. */
#ifndef KFDSHIM_TESTS_MATRIX_DRIVER_FILES_H
#define KFDSHIM_TESTS_MATRIX_DRIVER_FILES_H

/* Returns the number of queues of this process in sysfs (kfd/proc/PID/queues), or a negative
 * errno. */
int queues_listed(void);
/* Returns the number of compute slots of all GPUs and XCCs whose CP_HQD_ACTIVE is set in debugfs
 * hqds, or a negative errno. Needs root. */
int hqds_active(void);

#endif
