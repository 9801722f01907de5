// SPDX-License-Identifier: MIT
/* Implements UPDATE_QUEUE, SET_CU_MASK, ALLOC_QUEUE_GWS and GET_QUEUE_WAVE_STATE. */
#include <errno.h>

#include "sim/driver/files.h"
#include "sim/driver/queue.h"
#include "sim/driver/runlist_update.h"

#define CU_MASK_BITS_MAX 1024u

/* Ends the call after the runlist update: with -EACCES if the firmware did not answer. */
static void changed(struct runlist_update *update)
{
	update->result = update->error ? -EACCES : update->result;
}

/* Starts the runlist update that makes a change of the queue effective, and answers the call at its
 * end. Returns CALL_PENDING or -ENOMEM. */
static int queue_update_runlist(struct call *call, const struct queue *queue)
{
	struct runlist_update *update = runlist_update_new(call->process, call, changed);

	if (!update)
		return -ENOMEM;
	/* The driver unmaps all queues before it detects that the process has lost some of them to
	 * a reset, and then leaves them unmapped. */
	if (call->process->reset_nodes >> queue->node & 1) {
		update->unmap_only = true;
		update->result = -EACCES;
	}
	/* Even without a change this causes an update, unless the node has no active queue. */
	if (queue_active(queue) || nodes_active(call->sim) >> queue->node & 1)
		update->nodes = 1ull << queue->node;
	runlist_update_begin(update);
	return CALL_PENDING;
}

int queue_set_priority(struct queue *queue)
{
	struct node *node = &queue->process->sim->nodes[queue->node];
	uint32_t priority = queue->priority & GPU_PRIORITY_MAX;

	return gpu_queue_set_priority(node->gpu, (uint32_t)queue->gpu_queue, priority);
}

static void apply_change(const struct call *call, struct queue *queue,
			 const struct kfd_ioctl_update_queue_args *a)
{
	uint32_t percent = a->queue_percentage & 0xff;

	if (percent ? queue->percent || rule_holds(call->sim, RULE_update_starts_a_stopped_queue)
		    : rule_holds(call->sim, RULE_percent_0_stops_the_queue))
		queue->percent = percent;
	if (a->ring_base_address || (rule_holds(call->sim, RULE_no_ring_stops_the_queue) &&
				     rule_holds(call->sim, RULE_resume_maps_only_if_ring_permits)))
		queue->ring = a->ring_base_address;
	queue->ring_bytes = a->ring_size;
	queue->priority = a->queue_priority;
	queue->target_xcc = a->queue_percentage >> 8 & 0xff;
	if (!rule_holds(call->sim, RULE_update_of_a_suspended_queue_only_stores))
		queue->suspended = false;
}

int ioctl_update_queue(struct call *call)
{
	struct kfd_ioctl_update_queue_args *a = (void *)call->data;
	struct queue *queue;
	int r = queue_check_numbers(call->sim, a->queue_percentage, a->queue_priority,
				    a->ring_base_address, &a->ring_size);

	if (r && rule_holds(call->sim, RULE_update_checks_its_numbers))
		return r;
	queue = queue_by_id(call->process, a->queue_id);
	if (!queue)
		return rule_errno(call->sim, RULE_update_of_unknown_queue_is_efault, -EFAULT,
				  -EINVAL);
	if (a->ring_base_address &&
	    !queue_check_buffer(call->process, queue->node, a->ring_base_address, a->ring_size) &&
	    rule_holds(call->sim, RULE_update_to_an_unmapped_ring_is_efault))
		return -EFAULT;
	apply_change(call, queue, a);
	procfs_queue_resized(queue);
	/* needed because a change of a stopped queue on an idle node causes no runlist update */
	debugfs_changed(call->sim);
	r = queue_set_priority(queue);
	return r ? r : queue_update_runlist(call, queue);
}

int ioctl_set_cu_mask(struct call *call)
{
	struct kfd_ioctl_set_cu_mask_args *a = (void *)call->data;
	uint32_t mask[CU_MASK_BITS_MAX / 32] = {0}, bits = a->num_cu_mask;
	struct queue *queue;
	int r;

	if ((!bits || bits % 32) && rule_holds(call->sim, RULE_cu_mask_is_whole_words))
		return -EINVAL;
	if (bits > CU_MASK_BITS_MAX) {
		if (!rule_holds(call->sim, RULE_long_cu_mask_is_cut))
			return -EINVAL;
		bits = CU_MASK_BITS_MAX;
	}
	if (call_read(call, a->cu_mask_ptr, mask, bits / 32 * sizeof *mask) &&
	    rule_holds(call->sim, RULE_unreadable_cu_mask_is_efault))
		return -EFAULT;
	queue = queue_by_id(call->process, a->queue_id);
	if (!queue)
		return rule_errno(call->sim, RULE_cu_mask_of_unknown_queue_is_efault, -EFAULT,
				  -EINVAL);
	r = gpu_queue_set_cu_mask(call->sim->nodes[queue->node].gpu, (uint32_t)queue->gpu_queue,
				  mask, bits);
	return r ? r : queue_update_runlist(call, queue);
}

static struct queue *gws_holder(const struct process *process, uint32_t node)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &process->queues, link)
	if (queue->node == node && queue->gws)
		return queue;
	return NULL;
}

/* Gives the queue the node's whole global wave sync (GWS), or takes it back from its holder. */
int ioctl_alloc_queue_gws(struct call *call)
{
	struct kfd_ioctl_alloc_queue_gws_args *a = (void *)call->data;
	struct queue *queue = queue_by_id(call->process, a->queue_id), *holder;

	if (!queue)
		return rule_errno(call->sim, RULE_gws_of_unknown_queue_is_einval, -EINVAL, -ENODEV);
	if (!call->sim->config.node.num_gws)
		return -ENODEV;
	if (call->process->session && !debug_with_gws(call->sim))
		return -EBUSY;
	holder = gws_holder(call->process, queue->node);
	if (a->num_gws && holder && rule_holds(call->sim, RULE_gws_is_for_one_queue))
		return -EBUSY;
	if (!a->num_gws && !holder && rule_holds(call->sim, RULE_gws_cannot_be_given_up_twice))
		return -EINVAL;
	if (holder && rule_holds(call->sim, RULE_gws_can_be_given_up))
		holder->gws = false;
	if (a->num_gws)
		queue->gws = true;
	a->first_gws = 0;
	return queue_update_runlist(call, queue);
}

int ioctl_wave_state(struct call *call)
{
	struct kfd_ioctl_get_queue_wave_state_args *a = (void *)call->data;
	struct queue *queue = queue_by_id(call->process, a->queue_id);
	int r;

	if (!queue)
		return rule_errno(call->sim, RULE_wave_state_of_unknown_queue_is_efault, -EFAULT,
				  -EINVAL);
	if (!is_compute_type(queue->type) &&
	    rule_holds(call->sim, RULE_wave_state_is_of_compute_queues))
		return -EINVAL;
	if (queue_active(queue) && rule_holds(call->sim, RULE_wave_state_is_of_stopped_queues))
		return -EINVAL;
	if (!rule_holds(call->sim, RULE_wave_state_into_nothing_is_efault) && !a->ctl_stack_address)
		return 0;
	r = savearea_copy(queue, call, a->ctl_stack_address, &a->ctl_stack_used_size,
			  &a->save_area_used_size);
	if (!rule_holds(call->sim, RULE_wave_state_tells_the_live_state))
		a->ctl_stack_used_size = a->save_area_used_size = 0;
	return r;
}
