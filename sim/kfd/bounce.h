/* SPDX-License-Identifier: MIT */
/*
 * What changes the set of mapped queues, and what that costs: bounces, firmware
 * that does not answer, save areas.
 * Rules of threads and times: sim/kfd/kfd.h.
 */
#ifndef KFDSHIM_SIM_KFD_BOUNCE_H
#define KFDSHIM_SIM_KFD_BOUNCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "sim/gpu/gpu.h"
#include "sim/kfd/process.h"
#include "sim/kfd/queue.h"

struct node;

/* bounce.c: changes of what is mapped. */
struct bounce {
	struct world *world;
	struct process *process; /* referenced; locked from bounce_begin() until it is over */
	int stuck;   /* the GPU model's id of a queue of the node that does not come off; -1 */
	bool evicts; /* a switch: when it is over, its process is evicted */
	/* Of the driver's own: it does not lock the process, which may die meanwhile;
	 * released is not called, and unmapped not for the dead. */
	bool by_driver;
	struct call *call; /* answered with `result` at the end; may be NULL */
	int result;
	uint64_t nodes;	     /* mask of those that bounce, one after another */
	uint64_t failed;     /* of them: where the firmware did not answer */
	int error;	     /* of the first of these: -ETIME, or -EIO during a reset */
	uint32_t next_node;  /* that has not had its turn */
	uint32_t grace;	     /* units of 1024 clocks; KFDABI_GRACE_DEFAULT */
	bool unmap_only;     /* all queues of the node stay off until another bounce */
	unsigned again;	     /* so many times more, with nothing left to change */
	struct queue *queue; /* for the callbacks */
	uint32_t queue_id;   /* its own: when released is called it may be gone */
	/* All queues are off and the changes in effect, or the node has failed; the
	 * process is locked. May be NULL. */
	void (*unmapped)(struct bounce *bounce);
	/* The process is unlocked and what waited for it has run; the caller may be gone.
	 * May be NULL. */
	void (*released)(struct bounce *bounce);
	/* SUSPEND, RESUME: the array to write back (owned), what to clear, and how many
	 * queues of each node count. */
	uint32_t *ids;
	uint32_t n_ids;
	uint64_t ids_address, clear_mask;
	uint16_t counted[WORLD_NODES_MAX];
	bool resume;
	TAILQ_ENTRY(bounce) link; /* in node.stuck */
};
TAILQ_HEAD(bounce_list, bounce);

struct bounce *bounce_new(struct process *process, struct call *call,
			  void (*unmapped)(struct bounce *));
/* Brings the process's queues on those nodes to what they should be. Ends at
 * once where `nodes` is empty. Owns the bounce and its call from here on. */
void bounce_begin(struct bounce *bounce);
/* UNMAPPED and MAPPED of the GPU model. */
void bounce_event(struct node *node, const struct gpu_event *event);
/* It failed on this node; goes on with the next one. */
void bounce_failed(struct bounce *bounce, const struct node *node, int error);
/* Should it be mapped? */
bool queue_active(const struct queue *queue);
/* A queue may have ceased to be new: where that held it (a switch) it is mapped now. */
void bounce_collected(struct process *process);
/* Nodes whose runlist is not empty: elsewhere a change costs nothing. */
uint64_t nodes_active(const struct world *world);

/* evict.c: the process has a memory fault on that node, at process->violation[node], which no
 * debugger keeps to itself: it is evicted, and then gets its event. */
void fault_passed_on(struct process *process, uint32_t node);
/* As if memory were short: the process's queues go from all of its GPUs, and come back when
 * evictions_expire() finds that their time is over. */
void evict_for_memory(struct process *process);
void evictions_expire(struct world *world, uint64_t now_ns);
uint64_t evictions_due(const struct world *world); /* wall; UINT64_MAX: nothing to wait for */

/* reset.c: firmware that does not answer, and the GPU reset that follows. */
/* From now on nothing can be preempted on this node (debugfs: hang_hws). */
void firmware_hang(struct world *world, uint32_t node);
/* Will a bounce of the node, begun now, be answered? If not it is kept until the
 * driver gives up, and fails then or, during a reset, at once. */
bool firmware_answers(struct node *node, struct bounce *bounce);
/* Does a compute queue of the node not come off in the bounce that begins now? Its id in the GPU
 * model, or -1. */
int firmware_stuck_queue(struct node *node);
/* The bounce has taken all others off: the driver resets that queue. */
void firmware_reset_queue(struct node *node, int gpu_queue);
void firmware_expire(struct world *world, uint64_t now_ns);
uint64_t firmware_due(const struct world *world); /* wall; UINT64_MAX: nothing to wait for */
void firmware_forget(struct node *node);	  /* the world ends */

/* savearea.c */
/* Header and control stack of a compute queue as it was taken off last to an
 * address of the caller, an XCC's a save size behind that of the one before; and
 * how much XCC 0 used: bytes of control stack and of wave state. -EFAULT. */
int savearea_copy(const struct queue *queue, const struct call *call, uint64_t at,
		  uint32_t *ctl_used, uint32_t *wave_used);
/* The header and the control stack into the save area of every compute queue. */
void savearea_write(struct process *process);

#endif
