/* SPDX-License-Identifier: MIT */
/*
 * Interface of runlist updates ("bounces") and of what can go wrong with them: evictions, firmware
 * that does not answer, GPU resets, and the CWSR save areas (kfd_device_queue_manager.c).
 *
 * With the scheduling firmware every change of a queue unmaps all queues of the node and maps a new
 * runlist. A struct runlist_update is one such update of one or more nodes.
 *
 * Threads, locks and times: sim/host/sim_priv.h. Ownership: runlist_update_begin() takes over the
 * update and its call.
 */
#ifndef KFDSHIM_SIM_DRIVER_RUNLIST_UPDATE_H
#define KFDSHIM_SIM_DRIVER_RUNLIST_UPDATE_H

#include "sim/driver/queue.h"

/* One runlist update (runlist_update.c) on the nodes in `nodes`, one node after another. */
struct runlist_update {
	struct sim *sim;
	/* process whose queues change; referenced, and locked from runlist_update_begin() to the
	 * end */
	struct process *process;
	/* GPU model's id of a queue of the current node that cannot be unmapped; -1: none */
	int stuck;
	bool evicts; /* selected by --set evict_at: the process is evicted at the end */
	/* Started by a worker of the driver (an eviction), not by an ioctl. Such an update does not
	 * lock the process, which may therefore die before the end. released() is not called;
	 * unmapped() is called only if the process still lives. */
	bool by_driver;
	struct call *call; /* call to answer with `result` at the end; NULL: none */
	int result;
	uint64_t nodes;	    /* mask of the nodes to update, in ascending order */
	uint64_t failed;    /* nodes whose firmware did not answer */
	int error;	    /* first failure: -ETIME, or -EIO during a reset; 0: none */
	uint32_t next_node; /* index of the next node to visit */
	uint32_t grace;	    /* grace period in units of 1024 GPU clocks, or KFDABI_GRACE_DEFAULT */
	bool unmap_only;    /* all queues of the node stay unmapped until the next update */
	/* further repetitions of the update, which take time but change nothing */
	unsigned again;
	struct queue *queue; /* queue for the callbacks; may be NULL */
	uint32_t queue_id;   /* id of `queue`, which may be freed when released() runs */
	/* Called once, after the last node: all queues have been unmapped and the changes are in
	 * effect, or the node is in `failed`. The process is still locked. May be NULL. */
	void (*unmapped)(struct runlist_update *update);
	/* Called after the process was unlocked and the calls that waited for it have run. The
	 * caller of the ioctl may be gone. May be NULL. */
	void (*released)(struct runlist_update *update);
	/* SUSPEND_QUEUES and RESUME_QUEUES: the array of queue ids (owned), which is written back
	 * to ids_address; the exceptions to clear; and how many queues of each node count as
	 * successes. */
	uint32_t *ids;
	uint32_t n_ids;
	uint64_t ids_address, clear_mask;
	uint16_t counted[SIM_NODES_MAX];
	bool resume;
	TAILQ_ENTRY(runlist_update) link; /* in node.stuck */
};

/* Allocates an update for @process without nodes and with the default grace period. @call and
 * @unmapped may be NULL. Returns NULL if there is no memory. Before runlist_update_begin() the
 * caller releases it with free(). */
struct runlist_update *runlist_update_new(struct process *process, struct call *call,
					  void (*unmapped)(struct runlist_update *));
/* Starts the update. On each node in `nodes` the queues of the process are mapped or unmapped as
 * queue_active() requires. Ends at once if `nodes` is empty. Takes ownership of the update and its
 * call; both may be freed on return. */
void runlist_update_begin(struct runlist_update *update);
/* Handles GPU_EVENT_UNMAPPED and GPU_EVENT_MAPPED of the GPU model. UNMAPPED continues the update
 * on its next node, or ends it. */
void runlist_update_event(struct node *node, const struct gpu_event *event);
/* Records that the update failed on @node with @error, and continues on the next node. The update
 * may be freed on return. */
void runlist_update_failed(struct runlist_update *update, const struct node *node, int error);
/* Returns true if the queue should be mapped: it has a ring and a percentage above 0, and it is not
 * suspended, evicted, reset, being freed, or stopped by a setting of the profile. */
bool queue_active(const struct queue *queue);
/* Called after exceptions were cleared: maps queues that were not mapped only because their
 * exception QUEUE_NEW was pending (--set new_queue_waits). Does nothing while the process is
 * locked. */
void runlist_update_collected(struct process *process);
/* Returns the mask of nodes with a runlist that is not empty. On other nodes an update takes no
 * time. */
uint64_t nodes_active(const struct sim *sim);

/* ---- gpu_reset.c: evictions ---- */
/* Handles a memory fault on @node (address: process->violation[node]) that is not passed to a
 * debugger: evicts the process from the node permanently and then signals its memory events. If the
 * process is already evicted there, only signals the events. */
void fault_passed_on(struct process *process, uint32_t node);
/* Evicts the process from all of its GPUs, as the driver does when memory is short.
 * evictions_expire() restores it 100 ms later. Does nothing if such an eviction is already in
 * effect. */
void evict_for_memory(struct process *process);
/* Restores the processes whose eviction for memory is over at @now_ns (wall). */
void evictions_expire(struct sim *sim, uint64_t now_ns);
/* Returns the wall time of the next evictions_expire() call; UINT64_MAX: no eviction ends. */
uint64_t evictions_due(const struct sim *sim);

/* ---- gpu_reset.c: firmware that does not answer, and the GPU reset that follows ---- */
/* Makes the firmware of @node hang: from now on nothing can be preempted there (debugfs
 * hang_hws). */
void firmware_hang(struct sim *sim, uint32_t node);
/* Returns true if the firmware answers an update of @node that begins now. Otherwise the caller
 * must not use the update any more: it fails when the driver gives up (firmware_expire()) or,
 * during a reset, at once, and then gpu_reset.c continues it. */
bool firmware_responds(struct node *node, struct runlist_update *update);
/* Returns the GPU model's id of the compute queue that cannot be preempted in the update that
 * begins now (--set preempt_stuck=queue), or -1. */
int firmware_stuck_queue(struct node *node);
/* Resets one queue of the node (GPU model's id @gpu_queue), after the update has unmapped all other
 * queues. From then on the queue's process cannot update its queues on this node (reset_nodes).
 * Sends a HW-exception event to every process that has lost a queue on the node. */
void firmware_reset_queue(struct node *node, int gpu_queue);
/* Gives up on firmware that has not answered in time (time-out at or before @now_ns, wall) and
 * starts a GPU reset. Also ends GPU resets that are over. */
void firmware_expire(struct sim *sim, uint64_t now_ns);
/* Returns the wall time of the next firmware_expire() call; UINT64_MAX: nothing is due. */
uint64_t firmware_due(const struct sim *sim);
/* Fails all updates that wait for the firmware of the node. Called at the end of the simulation. */
void firmware_forget(struct node *node);

/* ---- queue_update.c: CWSR save areas ---- */
/* Writes header and control stack into the save area of every compute queue of the process. Like
 * the driver, it ignores areas that cannot be written. */
void savearea_write(struct process *process);

#endif
