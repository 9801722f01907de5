/* SPDX-License-Identifier: MIT */
/*
 * What /sys/class/kfd/kfd/proc tells of every process that uses the driver
 * (kfd_process.c): world readable, whoever asks. Its numbers are of the initial
 * PID namespace, so only a process in that one can compare them with its own.
 * A folder vanishes some time after its process has ended.
 */
#ifndef KFDSHIM_SCHEDULER_KFD_SYSFS_H
#define KFDSHIM_SCHEDULER_KFD_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SYSFS_PROCESSES "/sys/class/kfd/kfd/proc"

/* The driver's most ids of one process. */
#define SYSFS_QUEUES 1024u

struct sysfs_queue {
	uint32_t id;
	uint32_t gpu_id;
	uint32_t type; /* the driver's own number, see below */
	uint64_t ring_bytes;
};

/* Queues of its first KFD context (a debugger reaches no other), in no order, at
 * most `max`; those that vanish meanwhile are left out. Their number, or -ENOENT:
 * the process does not use the driver. */
int sysfs_queues(pid_t pid, struct sysfs_queue *out, size_t max);
/* One queue's folder `name` in the folder `dir` of queues. false: it is none, or it has
 * vanished. */
bool sysfs_queue_read(int dir, const char *name, struct sysfs_queue *out);
/* The number of the process' folder, which no other has: after an exec the process has another
 * folder as soon as it uses the driver again. 0: it does not use the driver. */
uint64_t sysfs_folder(pid_t pid);
/* Of all processes that use the driver, at most `max`; their number. */
size_t sysfs_processes(pid_t *out, size_t max);

/* AQL and PM4: sysfs does not tell them apart. */
bool sysfs_is_compute(const struct sysfs_queue *queue);
/* "compute", "sdma" or "xgmi". */
const char *sysfs_type_name(const struct sysfs_queue *queue);

#endif
