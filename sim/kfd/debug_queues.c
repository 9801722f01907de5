// SPDX-License-Identifier: MIT
/* SUSPEND_QUEUES, RESUME_QUEUES and snapshots (kfd-facts 1.4, 1.6). */
#include <errno.h>
#include <stdlib.h>

#include "sim/kfd/debug.h"

#define NEW_MASK kfdabi_ec_mask(KFDABI_EC_QUEUE_NEW)
#define NOT_FOUND UINT32_MAX

void debug_resume_queue(struct queue *queue)
{
	if (queue->suspended)
		queue->record->resumes++;
	queue->suspended = false;
}

/* The first entry that names the queue; bit 31 does not hinder a match, bit 30 does. */
static uint32_t find_id(const uint32_t *ids, uint32_t n, uint32_t id)
{
	for (uint32_t i = 0; i < n; i++)
		if ((ids[i] & ~KFDABI_QUEUE_INVALID) == id)
			return i;
	return NOT_FOUND;
}

/* After the bounce: what the caller asked to be cleared goes, in new queues too,
 * which a second call can then take. */
static void array_done(struct bounce *bounce)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &bounce->process->queues, link)
	if (bounce->ids && bounce->nodes >> queue->node & 1 &&
	    find_id(bounce->ids, bounce->n_ids, queue->id) != NOT_FOUND)
		queue->exceptions &= ~bounce->clear_mask;
	if (bounce->ids) /* a failed copy is only logged by the driver */
		(void)call_write(bounce->call, bounce->ids_address, bounce->ids,
				 bounce->n_ids * sizeof *bounce->ids);
	if (bounce->resume)
		queues_wake_destroyers(bounce->process);
}

static int read_ids(struct call *call, struct bounce *bounce, uint64_t address, uint32_t n)
{
	if (n > KFDABI_QUEUE_ARRAY_MAX)
		return -EINVAL;
	bounce->ids = calloc(n + 1, sizeof *bounce->ids);
	if (!bounce->ids)
		return -ENOMEM;
	bounce->n_ids = n;
	bounce->ids_address = address;
	if (call_read(call, address, bounce->ids, n * sizeof *bounce->ids))
		return -EFAULT;
	for (uint32_t i = 0; i < n; i++)
		bounce->ids[i] |= KFDABI_QUEUE_INVALID;
	return 0;
}

static bool suspend_one(struct queue *queue)
{
	if (queue->suspended)
		return true;
	if (queue->exceptions & NEW_MASK || queue->being_destroyed)
		return false;
	queue->suspended = true;
	queue->record->suspends++;
	return true;
}

/* SUSPEND and RESUME of an array; for RESUME an address of 0 means all. */
static int array(struct call *call, struct process *target, uint64_t address, uint32_t n,
		 uint64_t clear_mask, bool resume)
{
	struct bounce *bounce = bounce_new(target, call, array_done);
	struct queue *queue;
	int r = 0;

	if (!bounce)
		return -ENOMEM;
	bounce->resume = resume;
	bounce->clear_mask = clear_mask;
	if (address)
		r = read_ids(call, bounce, address, n);
	else if (!resume && n)
		r = -EINVAL;
	if (r) {
		free(bounce->ids);
		free(bounce);
		return r;
	}
	TAILQ_FOREACH(queue, &target->queues, link)
	{
		uint32_t at = find_id(bounce->ids, bounce->n_ids, queue->id);

		if (bounce->ids ? at == NOT_FOUND : !resume)
			continue;
		if (resume)
			debug_resume_queue(queue);
		else if (!suspend_one(queue))
			continue;
		if (bounce->ids)
			bounce->ids[at] &= ~KFDABI_QUEUE_INVALID;
		bounce->nodes |= 1ull << queue->node;
		bounce->result++;
	}
	bounce_begin(bounce);
	return CALL_PENDING;
}

int debug_suspend(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;

	return array(call, target, a->u.suspend.queue_array_ptr, a->u.suspend.num_queues,
		     a->u.suspend.exception_mask, false);
}

int debug_resume(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;

	return array(call, target, a->u.resume.queue_array_ptr, a->u.resume.num_queues, 0, true);
}

int debug_queue_snapshot(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	uint32_t room = a->u.queue_snapshot.num_queues, stride = a->u.queue_snapshot.entry_size;
	struct kfdabi_queue_snapshot entry = {0};
	uint32_t bytes = stride < sizeof entry ? stride : sizeof entry;
	struct queue *queue;

	a->u.queue_snapshot.num_queues = 0;
	if (!stride)
		return -EINVAL;
	a->u.queue_snapshot.entry_size = bytes;
	TAILQ_FOREACH(queue, &target->queues, link)
	{
		uint32_t i = a->u.queue_snapshot.num_queues;

		if (i < room) {
			entry.exception_status = queue->exceptions;
			entry.ring_base_address = queue->ring;
			entry.write_pointer_address = queue->wptr_address;
			entry.read_pointer_address = queue->rptr_address;
			entry.ctx_save_restore_address = queue->save_address;
			entry.queue_id = queue->id;
			entry.gpu_id = queue->record->gpu_id;
			entry.ring_size = (uint32_t)queue->ring_bytes;
			entry.queue_type = queue->type;
			entry.ctx_save_restore_area_size = queue->save_bytes;
			queue->exceptions &= ~a->u.queue_snapshot.exception_mask;
			if (call_write(call,
				       a->u.queue_snapshot.snapshot_buf_ptr + (uint64_t)i * stride,
				       &entry, bytes))
				return -EFAULT;
		}
		a->u.queue_snapshot.num_queues++;
	}
	return 0;
}
