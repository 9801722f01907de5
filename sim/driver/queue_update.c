// SPDX-License-Identifier: MIT
/* Implements UPDATE_QUEUE, SET_CU_MASK, ALLOC_QUEUE_GWS and GET_QUEUE_WAVE_STATE. */
#include <errno.h>
#include <string.h>

#include "sim/driver/files.h"
#include "sim/driver/runlist_update.h"

/* ---- CWSR save areas ----
 * Writes what the driver leaves in the save areas of compute queues (kfd_mqd_manager_v9.c). An area
 * has one part for each XCC; the parts are the queue's save size apart. The driver writes to each
 * part a header of 16 bytes with offset and size of control stack and wave state. It also writes
 * the control stack, which it copies from the MQD. It does so for every compute queue of a process,
 * after a SUSPEND_QUEUES that suspended at least one queue. GET_QUEUE_WAVE_STATE writes the same
 * data for one queue, into memory of the caller. The GPU would write the wave state, which is not
 * simulated: the header has its size, but its bytes are not written.
 *
 * The control stack grows down towards the header. The wave state begins behind the control stack
 * and grows up.
 */

#define STACK_BYTES_A_WAVE 8u /* of gfx9 (kfd_queue.c) */
#define STACK_STATE 0x40000000u

struct cwsr_header {
	uint32_t stack_offset, stack_bytes;
	uint32_t wave_offset, wave_bytes; /* offset: end of the wave state */
};

/* Returns how many of the queue's saved wave slots belong to this XCC. Workgroups are spread over
 * the XCCs evenly; the first XCCs get the remainder. */
static uint64_t wave_slots_of(const struct queue *queue, uint32_t xcc)
{
	uint32_t xccs = queue->process->sim->config.gpu.xccs;

	return queue->saved_wave_slots / xccs + (xcc < queue->saved_wave_slots % xccs);
}

/* Calculates the sizes of control stack and wave state of one XCC, in bytes; each is limited to the
 * space that the save area has for it. */
static void sizes_of(const struct queue *queue, uint32_t xcc, uint32_t *ctl_used,
		     uint32_t *wave_used)
{
	const struct sim_config *config = &queue->process->sim->config;
	uint64_t wave_slots = wave_slots_of(queue, xcc), stack = wave_slots * STACK_BYTES_A_WAVE,
		 waves = wave_slots * config->gpu.save_bytes_unit, stack_room, wave_room;

	if (stack)
		stack += 2 * sizeof(uint32_t); /* state that belongs to no wave */
	stack_room = config->node.ctl_stack_size - sizeof(struct cwsr_header);
	wave_room = queue->save_bytes > config->node.ctl_stack_size
			    ? queue->save_bytes - config->node.ctl_stack_size
			    : 0;
	*ctl_used = (uint32_t)(stack < stack_room ? stack : stack_room & ~3ull);
	*wave_used = (uint32_t)(waves < wave_room ? waves : wave_room);
}

/* Destination of a save area: the queue's own area, or memory that an ioctl's caller has passed. */
struct area_target {
	/* if call is NULL: process whose GPU memory `at` is in */
	const struct process *process;
	const struct call *call; /* if not NULL: `at` is in the caller's memory */
	uint64_t at;
};

static int put(const struct area_target *to, uint64_t offset, const void *from, size_t n)
{
	if (to->call)
		return call_write(to->call, to->at + offset, from, n);
	return access_write(to->process, to->at + offset, from, n) ? -EFAULT : 0;
}

/* Writes a control stack of @bytes bytes; the values of its words are invented. */
static int write_stack(const struct area_target *to, uint64_t at, uint32_t bytes)
{
	uint32_t words[1024], n = bytes / 4;

	while (n) {
		uint32_t part = n < 1024 ? n : 1024;

		for (uint32_t i = 0; i < part; i++)
			words[i] = i < 2 && part == n ? STACK_STATE : i;
		if (put(to, at, words, part * sizeof *words))
			return -EFAULT;
		at += part * sizeof *words;
		n -= part;
	}
	return 0;
}

static int write_xcc(const struct queue *queue, const struct area_target *to, uint32_t xcc)
{
	const struct sim *sim = queue->process->sim;
	uint64_t at = (uint64_t)xcc * queue->save_bytes;
	uint32_t end = sim->config.node.ctl_stack_size;
	struct cwsr_header header = {.wave_offset = end};
	char longer[40] = {0};

	sizes_of(queue, xcc, &header.stack_bytes, &header.wave_bytes);
	header.stack_offset = end - header.stack_bytes;
	header.wave_offset = end + header.wave_bytes;
	if (!rule_holds(sim, RULE_save_area_header_has_16_bytes)) {
		memcpy(longer, &header, sizeof header);
		(void)put(to, at, longer, sizeof longer);
	}
	if (!rule_holds(sim, RULE_save_area_header_tells_the_live_state))
		header.stack_bytes = header.wave_bytes = 0;
	if (put(to, at, &header, sizeof header))
		return -EFAULT;
	return write_stack(to, at + header.stack_offset, header.stack_bytes);
}

/* Copies the header and the control stack of a compute queue, as of its last unmap, to @at in the
 * caller's memory; the part of XCC i begins at i times the queue's save size. Sets *@ctl_used and
 * *@wave_used to the bytes of control stack and wave state of XCC 0. Returns 0 or -EFAULT. */
static int savearea_copy(const struct queue *queue, const struct call *call, uint64_t at,
			 uint32_t *ctl_used, uint32_t *wave_used)
{
	const struct area_target to = {.call = call, .at = at};
	const struct sim *sim = queue->process->sim;
	uint32_t xccs = sim->config.gpu.xccs;
	int r = 0;

	if (!rule_holds(sim, RULE_wave_state_is_copied))
		xccs = 0;
	for (uint32_t xcc = 0; xcc < xccs && !r; xcc++)
		r = write_xcc(queue, &to, xcc);
	sizes_of(queue, 0, ctl_used, wave_used);
	return r;
}

void savearea_write(struct process *process)
{
	const struct sim *sim = process->sim;
	uint32_t xccs =
		rule_holds(sim, RULE_save_area_header_is_per_xcc) ? sim->config.gpu.xccs : 1;
	struct queue *queue;
	struct area_target to;
	bool first = true;

	if (process->dead || !process_mm_alive(process) ||
	    !rule_holds(sim, RULE_save_area_header_after_suspend) ||
	    (process->saved_before && !rule_holds(sim, RULE_save_area_header_at_each_suspend)))
		return;
	process->saved_before = true;
	TAILQ_FOREACH(queue, &process->queues, link)
	{
		if (!is_compute_type(queue->type) || !queue->save_address ||
		    (!first && !rule_holds(sim, RULE_save_area_header_of_every_queue)))
			continue;
		first = false;
		to = (struct area_target){.process = process, .at = queue->save_address};
		/* If a write fails, the rest of this queue's area is left out. As in the driver,
		 * the failure is not reported. */
		for (uint32_t xcc = 0; xcc < xccs && !write_xcc(queue, &to, xcc); xcc++)
			;
	}
}

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
