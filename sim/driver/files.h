/* SPDX-License-Identifier: MIT */
/*
 * Interface of the driver's files: kfd/proc in sysfs (sysfs_proc.c), debugfs (debugfs.c,
 * debugfs_text.c, debugfs_hqd.c) and SMI events (smi_events.c).
 *
 * Programs under the simulator see plain files on a tmpfs. Their contents are therefore written
 * when they change, because nothing can be computed when a file is read;
 * docs/reference/kfdsim-files.md states how late each file may be.
 *
 * Threads: all functions under sim->lock, unless noted. Errors: a file that cannot be written is
 * logged once, and the call that caused the change continues. Without a directory for the files
 * (sim_config) none of these functions does anything.
 */
#ifndef KFDSHIM_SIM_DRIVER_FILES_H
#define KFDSHIM_SIM_DRIVER_FILES_H

#include "sim/driver/queue.h"

/* ---- sysfs_proc.c: /sys/class/kfd/kfd/proc/<pid> ---- */
/* Creates the directory kfd/proc, and raises RLIMIT_NOFILE to its hard limit because each process
 * needs several open files. Returns 0 or a negative errno. */
int procfs_start(struct sim *sim);
/* Closes the directory. */
void procfs_stop(struct sim *sim);
/* Create and remove the process's directory. Its pasid must be set before. */
void procfs_process_new(struct process *process);
void procfs_process_end(struct process *process);
/* Removes a directory with all files that it contains; also for debugfs.c. Returns 0, or -1 with
 * errno. */
int remove_dir(int parent, const char *name);
/* Create and remove the queue's directory queues/<id>. */
void procfs_queue_new(const struct queue *queue);
void procfs_queue_gone(const struct queue *queue);
/* Rewrites the queue's size after UPDATE_QUEUE, and marks its hardware registers as stale
 * (debugfs_hqd.c). */
void procfs_queue_resized(struct queue *queue);
/* Write process->vram[node] or process->evicted_ns[node] to its file after a change. */
void procfs_vram(struct process *process, uint32_t node);
void procfs_evicted(struct process *process, uint32_t node);
/* procfs_update() samples the values of the files cu_occupancy and sdma every 10 ms while there is
 * work, and writes them. procfs_touch() makes the next procfs_update() sample at once. */
void procfs_touch(struct sim *sim);
void procfs_update(struct sim *sim, uint64_t now_ns);
/* Returns the wall time of the next procfs_update() call; UINT64_MAX: nothing to sample. */
uint64_t procfs_due(const struct sim *sim);

/* ---- smi_events.c: the ioctl and its events; @node is an index, not a gpu_id ---- */
enum smi_trigger { /* reasons of an eviction */
		   SMI_BY_SVM = 0,
		   SMI_BY_USERPTR = 1,
		   SMI_BY_TTM = 2,
		   SMI_BY_SUSPEND = 3, /* by the driver, for a reset */
};
/* SMI_EVENTS: gives the caller an event fd. Returns 0 or a negative errno. */
int ioctl_smi_events(struct call *call);
/* Send one line of text to each SMI client of the node that has selected this event and is allowed
 * to see it. @trigger: enum smi_trigger; @start: true for the start of the process, false for its
 * end. */
void smi_queue_eviction(struct process *process, uint32_t node, uint32_t trigger);
void smi_queue_restore(struct process *process, uint32_t node, bool rescheduled);
void smi_vm_fault(struct process *process, uint32_t node);
void smi_process(struct process *process, uint32_t node, bool start);
/* Sends the event of the end of the process, on every node that it used. */
void smi_process_end(struct process *process);
/* Sends the event before a reset of the node's GPU or, with @done, after it. */
void smi_gpu_reset(struct sim *sim, uint32_t node, bool done, const char *cause);
/* Frees the SMI clients whose fd was closed. */
void smi_sweep(struct sim *sim);
/* Frees all SMI clients. */
void smi_stop(struct sim *sim);

/* ---- debugfs.c: /sys/kernel/debug/kfd ---- */
/* Creates the files with the state of a simulation without processes. Returns 0 or a negative
 * errno. */
int debugfs_start(struct sim *sim);
/* Closes the files. */
void debugfs_stop(struct sim *sim);
/* Create and remove the process's directory proc/<pid> (releases after Linux 6.12). */
void debugfs_process_new(struct process *process);
void debugfs_process_end(struct process *process);
/* Marks the texts as outdated, after a change of queues, processes or memory. */
void debugfs_changed(struct sim *sim);
/* Passes a copy of the state to the writer thread if the texts are outdated and at least 20 ms have
 * passed since the last copy. In virtual time writes the texts itself. */
void debugfs_update(struct sim *sim, uint64_t now_ns);
/* The writer thread calls these three. debugfs_pending() returns true if texts have to be written;
 * needs the thread's lock. debugfs_take() takes over the copy of the state, under the lock, too.
 * debugfs_write() then writes the texts from this copy, without the lock. */
bool debugfs_pending(const struct sim *sim);
void debugfs_take(struct sim *sim);
void debugfs_write(struct sim *sim);
/* Returns the wall time of the next debugfs_update() call; UINT64_MAX: nothing changed. */
uint64_t debugfs_due(const struct sim *sim);
/* Makes the firmware of the GPU hang whose gpu_id a program has written to hang_hws. Called when
 * sim->poll_fd reports an event with sim->debugfs as its data. */
void debugfs_written(struct sim *sim);

/* ---- debugfs_hqd.c: hardware queue slots, and the text that shows them ---- */
/* Creates the file hqds. Returns 0 or a negative errno. */
int hqd_start(struct sim *sim);
/* Unmaps the file hqds and frees what hqd_start() has allocated. */
void hqd_stop(struct sim *sim);
/* Gives a new queue its serial number. The queue gets a slot when it is mapped (hqd_update()). */
void hqd_set_position(struct queue *queue);
/* Assigns hardware queue slots to the process's queues on @node that are mapped now, and takes them
 * from those that are not. Called after a runlist update. */
void hqd_update(struct process *process, uint32_t node);
/* Frees the slot of a queue that is about to be freed. */
void hqd_gone(struct queue *queue);
/* Writes the present read and write pointers of mapped compute queues into the file hqds. */
void hqd_pointers(struct sim *sim);

#endif
