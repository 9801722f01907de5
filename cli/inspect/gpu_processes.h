/* SPDX-License-Identifier: MIT */
/*
 * Lists the processes that use a GPU, without kfdsched and kfdschedd. All commands use this
 * list. Threads: any. Ownership: gpu_processes_free() frees a list.
 */
#ifndef KFDSHIM_CLI_INSPECT_GPU_PROCESSES_H
#define KFDSHIM_CLI_INSPECT_GPU_PROCESSES_H

#include <sys/types.h>

#include "cli/inspect/queue_view.h"

struct gpu_processes {
	pid_t *pid; /* in the caller's pid namespace, ascending; owned */
	size_t count;
};

/* Lists the GPU processes that the chosen `sources` report: OBSERVE_BIT(OBSERVE_DAEMON) for the
 * daemon at `socket`, OBSERVE_BIT(OBSERVE_SYSFS) for the driver. The driver is left out if its pids
 * are not those of the caller's pid namespace. */
void gpu_processes_read(unsigned sources, const char *socket, struct gpu_processes *out);
/* Reads the driver's list unchanged: with pids as the driver numbers them, not sorted, and with
 * kfdsched and kfdschedd. */
void gpu_processes_of_driver(struct gpu_processes *out);
void gpu_processes_free(struct gpu_processes *list);
bool gpu_processes_has(const struct gpu_processes *list, pid_t pid);
/*
 * Checks whether the driver or the daemon can list all GPU processes for the caller.
 *
 * Returns 0 if the driver's list is complete or a daemon replies. On error `why` is a sentence
 * without a full stop that contains what to do:
 * -ENODEV  there is no driver
 * -EXDEV   the driver's pids are of another pid namespace, and no daemon replies
 */
int observe_can_list(const char *socket, char why[static OBSERVE_WHY]);

enum process_gpu { PROCESS_GPU_UNKNOWN, PROCESS_GPU_NO, PROCESS_GPU_YES };
/* Checks whether the process uses an AMD GPU. If the driver's pids are those of the caller's pid
 * namespace, the driver's list decides. Otherwise a process that has /dev/kfd mapped uses a GPU;
 * PROCESS_GPU_UNKNOWN if the caller may not read its mappings. */
enum process_gpu process_gpu(pid_t pid);
/*
 * Returns true for a process of kfdsched or kfdschedd, recognised by its exact name
 * (common/own_names.h) and, where /proc shows it, by its program file. Such a process can have the
 * device open, but has no work on it.
 */
bool process_is_ours(pid_t pid);

#endif
