/* SPDX-License-Identifier: MIT */
/*
 * Processes and queues as the driver lists them in /sys/class/kfd/kfd/proc (kfd_process.c).
 *
 * The files are world readable. The directories are named by pids of the initial PID namespace, so
 * only a process in that namespace can compare these pids with its own. The directory of a process
 * disappears some time after the process has ended.
 *
 * Threads: any. No state is kept.
 */
#ifndef KFDSHIM_KFD_SYSFS_H
#define KFDSHIM_KFD_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SYSFS_PROCESSES "/sys/class/kfd/kfd/proc"

/* Maximum number of queue ids of one process in the driver; ids are smaller. */
#define SYSFS_QUEUES 1024u

struct sysfs_queue {
	uint32_t id;
	uint32_t gpu_id;
	uint32_t type;	     /* enum kfd_queue_type of the driver, see sysfs_type_name() */
	uint64_t ring_bytes; /* size of the ring buffer */
};

/*
 * Reads the queues of the process's first KFD context (a debug session reaches no other context),
 * at most `max`, in no order. Queues that disappear while they are read are left out.
 * Returns their number, or -ENOENT if the process does not use the driver.
 */
int sysfs_queues(pid_t pid, struct sysfs_queue *out, size_t max);
/* Reads the queue directory `name` in the open directory `dir` of queues. Returns false if `name`
 * is no queue directory, or has disappeared. */
bool sysfs_queue_read(int dir, const char *name, struct sysfs_queue *out);
/*
 * Returns the inode number of the process's directory, which no other directory has, or 0 if the
 * process does not use the driver. After an exec the process gets a new directory as soon as it
 * uses the driver again.
 */
uint64_t sysfs_dir(pid_t pid);
/* Reads the pids of all processes that use the driver, at most `max`. Returns their number. */
size_t sysfs_processes(pid_t *out, size_t max);

/* Returns true for a compute queue. sysfs does not distinguish AQL from PM4. */
bool sysfs_is_compute(const struct sysfs_queue *queue);
/* Returns "compute", "sdma" or "xgmi" (a static string). */
const char *sysfs_type_name(const struct sysfs_queue *queue);

#endif
