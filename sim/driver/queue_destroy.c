// SPDX-License-Identifier: MIT
/* Implements DESTROY_QUEUE, which may have to sleep, and the end of all queues of a process. */
#include <errno.h>
#include <stdlib.h>

#include "sim/driver/files.h"
#include "sim/driver/runlist_update.h"

struct queue *queue_by_id(const struct process *process, uint32_t id)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->id == id)
		return queue;
	return NULL;
}

static void drop_destroyers(struct queue *queue)
{
	struct call *call;

	while ((call = TAILQ_FIRST(&queue->destroyers))) {
		TAILQ_REMOVE(&queue->destroyers, call, link);
		call->sim->n_destroyers--;
		call_drop(call);
	}
}

/* Removes the queue from the GPU model. */
static void leave_gpu(struct queue *queue, struct node *node)
{
	struct process *process = queue->process;
	struct gpu_client_run *former = &process->run[queue->node], after;
	struct gpu_client_run before = gpu_client_run(node->gpu, process->token);

	gpu_queue_remove(node->gpu, (uint32_t)queue->gpu_queue);
	/* The GPU model drops a process's run time with its last queue, so keep it here. */
	after = gpu_client_run(node->gpu, process->token);
	former->ns += before.ns - after.ns;
	former->share_ns += before.share_ns - after.share_ns;
}

void queue_drop(struct queue *queue)
{
	struct process *process = queue->process;
	struct node *node = &process->sim->nodes[queue->node];

	if (queue->record) {
		procfs_queue_gone(queue);
		hqd_gone(queue);
		report_queue_gone(queue);
	}
	if (queue->waiting)
		process->sim->n_waiting--;
	move_drop(queue);
	drop_destroyers(queue);
	if (queue->gpu_queue >= 0) {
		if ((unsigned)queue->gpu_queue < node->n_by_gpu_queue)
			node->by_gpu_queue[queue->gpu_queue] = NULL;
		leave_gpu(queue, node);
	}
	if (rule_holds(process->sim, RULE_ids_are_used_again_at_once))
		process->queue_ids[queue->id / 64] &= ~(1ull << (queue->id % 64));
	TAILQ_REMOVE(&process->queues, queue, link);
	pm4_release(queue);
	free(queue);
}

/* Leaves the GWS (global wave sync) of a destroyed queue to another queue of the process. Called if
 * --break breaks the rule that the GWS goes with its queue. */
static void leave_gws(const struct queue *gone)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &gone->process->queues, link)
	if (queue != gone && queue->node == gone->node && gone->gws)
		queue->gws = true;
}

static void destroyed(struct runlist_update *update)
{
	uint32_t node = update->queue->node;

	if (!rule_holds(update->sim, RULE_gws_goes_with_its_queue))
		leave_gws(update->queue);
	queue_drop(update->queue);
	debug_queue_deleted(update->process, node);
	if (update->error)
		update->result = update->error; /* the queue is gone nevertheless */
}

/* Drops sleeping DESTROY_QUEUE calls that a signal has interrupted. In Linux 6.12 the queue stays
 * marked as being destroyed and can never be suspended again. */
static void forget_interrupted(struct queue *queue)
{
	const struct sim *sim = queue->process->sim;
	struct call *call, *next;
	bool any = !TAILQ_EMPTY(&queue->destroyers);
	bool forgets = like_linux_7(sim, RULE_interrupted_destroy_bars_suspension,
				    RULE_interrupted_destroy_leaves_no_mark);

	for (call = TAILQ_FIRST(&queue->destroyers); call; call = next) {
		next = TAILQ_NEXT(call, link);
		if (call_alive(call))
			continue;
		TAILQ_REMOVE(&queue->destroyers, call, link);
		call->sim->n_destroyers--;
		call_drop(call);
	}
	if (any && TAILQ_EMPTY(&queue->destroyers) && forgets)
		queue->being_destroyed = false;
}

void queues_forget_interrupted(struct sim *sim)
{
	struct process *process;
	struct queue *queue;

	TAILQ_FOREACH(process, &sim->processes, link)
	TAILQ_FOREACH(queue, &process->queues, link)
	forget_interrupted(queue);
}

/* Returns true if DESTROY_QUEUE has to wait until the debugger resumes the queue. */
static bool must_sleep(const struct queue *queue)
{
	return queue->process->session && queue->suspended &&
	       rule_holds(queue->process->sim, RULE_destroy_of_a_suspended_queue_sleeps);
}

int ioctl_destroy_queue(struct call *call)
{
	struct kfd_ioctl_destroy_queue_args *a = (void *)call->data;
	struct process *process = call->process;
	struct queue *queue = queue_by_id(process, a->queue_id);
	struct runlist_update *update;

	if (!queue)
		return rule_errno(call->sim, RULE_destroy_of_unknown_queue_is_einval, -EINVAL,
				  -EFAULT);
	if (!TAILQ_EMPTY(&queue->destroyers) && linux_7(call->sim))
		return rule_errno(call->sim, RULE_second_destroy_is_ebusy, -EBUSY, -EINVAL);
	if (!rule_holds(call->sim, RULE_destroy_drops_the_work) && queue->submitted != queue->done)
		return -EBUSY;
	/* -EIO was seen on one real GPU. By the driver's source the call sleeps instead. */
	if (must_sleep(queue) && call->sim->config.node.destroy_suspended_fails)
		return -EIO;
	queue->being_destroyed = true;
	if (must_sleep(queue)) {
		TAILQ_INSERT_TAIL(&queue->destroyers, call, link);
		call->sim->n_destroyers++;
		return CALL_PENDING;
	}
	update = runlist_update_new(process, call, destroyed);
	if (!update)
		return -ENOMEM;
	update->queue = queue;
	update->nodes = queue_active(queue) ? 1ull << queue->node : 0;
	queue->removed = true;
	runlist_update_begin(update);
	return CALL_PENDING;
}

void queues_wake_destroyers(struct process *process, uint64_t nodes, enum kfdabi_rule rule)
{
	struct queue *queue;
	struct call *call;

	if (!rule_holds(process->sim, rule))
		return;
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		if (queue->suspended || !(nodes >> queue->node & 1))
			continue;
		while ((call = TAILQ_FIRST(&queue->destroyers))) {
			TAILQ_REMOVE(&queue->destroyers, call, link);
			call->sim->n_destroyers--;
			process_block(process, call); /* executed when the process is unlocked */
		}
	}
}

static void torn_down(struct runlist_update *update)
{
	struct queue *queue;

	while ((queue = TAILQ_FIRST(&update->process->queues)))
		queue_drop(queue);
}

void queues_tear_down(struct process *process)
{
	struct runlist_update *update;
	struct queue *queue;

	if (TAILQ_EMPTY(&process->queues))
		return;
	update = runlist_update_new(process, NULL, torn_down);
	if (!update) {
		sim_log("out of memory to destroy the queues of pid %d", process->pid);
		return;
	}
	/* Nodes with unmapped queues are updated as well. An earlier update of these queues may
	 * still be in progress, and the queues must exist until it ends. */
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		drop_destroyers(queue);
		update->nodes |= 1ull << queue->node;
	}
	runlist_update_begin(update);
}
