/* SPDX-License-Identifier: MIT */
/*
 * What the driver shows in files: kfd/proc in sysfs (procfs.c), debugfs
 * (debugfs.c and what it is made of), SMI events (smi.c). The world's tasks see
 * plain files of a tmpfs, so everything is written when it changes and nothing
 * when it is read; docs/formats.md says how late each may be.
 *
 * Threads: all functions under the world's lock. Errors: a file that cannot
 * be written is said once, and the call that changed something goes on. Without
 * a folder for them (world_config) none of these does anything.
 */
#ifndef KFDSHIM_SIM_KFD_FILES_H
#define KFDSHIM_SIM_KFD_FILES_H

#include "sim/kfd/kfd.h"

/* Another release of the driver? Rules that changed after 6.12. */
static inline bool linux_7(const struct world *world)
{
	return world->config.kernel >= KFDABI_LINUX_7_3;
}

/* procfs.c: /sys/class/kfd/kfd/proc/<pid>. */
int procfs_start(struct world *world);
void procfs_stop(struct world *world);
/* The process's folder; its pasid must be there. */
void procfs_process_new(struct process *process);
void procfs_process_end(struct process *process);
void procfs_queue_new(const struct queue *queue);
void procfs_queue_gone(const struct queue *queue);
void procfs_queue_resized(struct queue *queue); /* UPDATE_QUEUE was here */
/* process->vram[node] has changed. */
void procfs_vram(struct process *process, uint32_t node);
void procfs_evicted(struct process *process, uint32_t node); /* evicted_ns[node], likewise */
/* Figures that are sampled (cu_occupancy, sdma): every 10 ms while there is
 * work, and at once after procfs_touch(). */
void procfs_touch(struct world *world);
void procfs_update(struct world *world, uint64_t now_ns);
uint64_t procfs_due(const struct world *world); /* UINT64_MAX: nothing to sample */

/* smi.c: the ioctl and what it tells; `node` is an index, not a gpu_id. */
enum smi_trigger { /* of an eviction */
		   SMI_BY_SVM = 0,
		   SMI_BY_USERPTR = 1,
		   SMI_BY_TTM = 2,
		   SMI_BY_SUSPEND = 3, /* of the driver, for a reset */
};
int ioctl_smi_events(struct call *call);
void smi_queue_eviction(struct process *process, uint32_t node, uint32_t trigger);
void smi_queue_restore(struct process *process, uint32_t node, bool rescheduled);
void smi_vm_fault(struct process *process, uint32_t node);
void smi_process(struct process *process, uint32_t node, bool start);
void smi_process_end(struct process *process); /* on every node that it used */
void smi_gpu_reset(struct world *world, uint32_t node, bool done, const char *cause);
void smi_sweep(struct world *world); /* lets go of descriptors that are closed */
void smi_stop(struct world *world);

/* debugfs.c: /sys/kernel/debug/kfd. */
int debugfs_start(struct world *world);
int debugfs_run(struct world *world); /* starts its thread: not before a fork */
void debugfs_stop(struct world *world);
void debugfs_process_new(struct process *process);
void debugfs_process_end(struct process *process);
/* Queues, processes or memory have changed: the texts are made again. */
void debugfs_changed(struct world *world);
void debugfs_update(struct world *world, uint64_t now_ns);
uint64_t debugfs_due(const struct world *world); /* UINT64_MAX: nothing to do */
/* world->poll_fd tells of world->debugfs: somebody wrote to hang_hws. */
void debugfs_written(struct world *world);

/* hqd.c: hardware queue slots, and the text that shows them. */
int hqd_start(struct world *world);
void hqd_stop(struct world *world);
/* Gives a new queue its number, and no slot yet. */
void hqd_place(struct queue *queue);
/* What is mapped of the process on that node has changed. */
void hqd_update(struct process *process, uint32_t node);
void hqd_gone(struct queue *queue);
void hqd_pointers(struct world *world); /* read and write pointers, as of now */

#endif
