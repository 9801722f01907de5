// SPDX-License-Identifier: MIT
/*
 * SUSPEND_QUEUES and RESUME_QUEUES (suspend_queues and resume_queues in
 * kfd_device_queue_manager.c). The caller passes an array of queue ids, and each entry is written
 * back with its result. A call costs one runlist update of each node concerned, however many queues
 * it names on the node.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/driver/debug.h"
#include "sim/driver/memory.h"

#define NOT_FOUND UINT32_MAX

void debug_resume_queue(struct queue *queue)
{
	if (!queue->suspended)
		return;
	queue->record->resumes++;
	queue->suspended = queue->reset = false;
}

/* Returns true if the caller's entry names this queue. Bit 31 does not prevent a match, because the
 * driver sets it in all entries before it compares them. Bit 30 does. */
static bool matches(const struct sim *sim, uint32_t entry, uint32_t id)
{
	if (!rule_holds(sim, RULE_input_bit_30_never_matches))
		entry &= ~KFDABI_QUEUE_ERROR;
	return (entry & ~KFDABI_QUEUE_INVALID) == id;
}

static uint32_t find_id(const struct runlist_update *update, const struct queue *queue)
{
	for (uint32_t i = 0; i < update->n_ids; i++)
		if (matches(update->sim, update->ids[i], queue->id))
			return i;
	return NOT_FOUND;
}

/* Clears the exceptions in the caller's mask from all queues that it has named, on nodes where at
 * least one queue was suspended. New queues were not suspended, but lose QUEUE_NEW by this, so that
 * a second call can suspend them. */
static void clear_exceptions(struct runlist_update *update)
{
	const struct sim *sim = update->sim;
	uint64_t mask = update->clear_mask, nodes = update->nodes & ~update->failed;
	struct queue *queue;

	if (!rule_holds(sim, RULE_suspend_mask_clears_only_what_it_names) && mask)
		mask = UINT64_MAX;
	if (!rule_holds(sim, RULE_suspend_mask_needs_a_success))
		nodes = UINT64_MAX;
	if (sim->config.node.suspend_mask_keeps_new ||
	    !rule_holds(sim, RULE_suspend_mask_clears_new_of_the_node))
		mask &= ~NEW_MASK;
	TAILQ_FOREACH(queue, &update->process->queues, link)
	if (nodes >> queue->node & 1 && find_id(update, queue) != NOT_FOUND)
		queue->exceptions &= ~mask;
}

/* Sets the error bit in every entry that names a queue of a node whose firmware failed. No queue of
 * such a node counts as a success. */
static void write_errors(struct runlist_update *update)
{
	struct queue *queue;

	TAILQ_FOREACH(queue, &update->process->queues, link)
	{
		uint32_t at = find_id(update, queue);

		if (update->failed >> queue->node & 1 && at != NOT_FOUND)
			update->ids[at] |= KFDABI_QUEUE_ERROR;
	}
}

/* Changes the result of the call if --break names a driver rule about SUSPEND or RESUME. */
static void reply_wrongly(struct runlist_update *update)
{
	struct kfdabi_dbg_trap *a = (void *)update->call->data;
	uint32_t *ids = update->ids, n = update->n_ids;

	switch (update->sim->config.broken_rule) {
	case RULE_unknown_ids_flagged_count_0_suspend:
	case RULE_unknown_ids_flagged_count_0_resume:
		update->result = (int)n;
		break;
	case RULE_mixed_known_and_unknown_suspend:
	case RULE_mixed_known_and_unknown_resume:
	case RULE_duplicate_id_stays_invalid:
		for (uint32_t i = 0; i < n && update->result; i++)
			ids[i] &= ~KFDABI_QUEUE_INVALID;
		break;
	case RULE_suspend_counts_and_clears_invalid:
		for (uint32_t i = 0; i < n; i++)
			ids[i] |= KFDABI_QUEUE_INVALID;
		break;
	case RULE_resume_null_array_means_all:
		update->result = ids ? update->result : 0;
		break;
	case RULE_suspend_counts_queues_of_all_nodes:
		update->result = update->result > 1 ? 1 : update->result;
		break;
	case RULE_queue_array_pointer_unchanged_after_call:
		a->u.suspend.queue_array_ptr = a->u.resume.queue_array_ptr = 0;
		break;
	default:
		break;
	}
}

/* Ends a SUSPEND or RESUME call after the update of its last node: counts the successes, clears
 * exceptions, and writes the array back to the caller. */
static void array_done(struct runlist_update *update)
{
	struct sim *sim = update->sim;

	for (uint32_t i = 0; i < sim->nodes_n; i++)
		if (!(update->failed >> i & 1))
			update->result += update->counted[i];
	if (update->ids && !update->resume)
		clear_exceptions(update);
	if (update->ids)
		write_errors(update);
	if (!update->resume &&
	    (update->result > 0 || !rule_holds(sim, RULE_save_area_header_needs_a_success)))
		savearea_write(update->process);
	reply_wrongly(update);
	if (update->ids) /* the driver only logs a failed copy */
		(void)call_write(update->call, update->ids_address, update->ids,
				 update->n_ids * sizeof *update->ids);
	if (update->resume)
		queues_wake_destroyers(update->process, update->nodes & ~update->failed,
				       RULE_resume_wakes_destroy);
}

/* Reads the caller's array and marks every entry as invalid, as the driver does. mark() clears the
 * invalid bit later for queues that it finds. Returns 0 or a negative errno; the caller frees the
 * array. */
static int read_ids(struct call *call, struct runlist_update *update, uint64_t address, uint32_t n)
{
	const struct sim *sim = call->sim;

	if (n > KFDABI_QUEUE_ARRAY_MAX &&
	    rule_holds(sim, update->resume ? RULE_resume_over_1024_is_einval
					   : RULE_suspend_over_1024_is_einval))
		return -EINVAL;
	update->ids = calloc(n + 1, sizeof *update->ids);
	if (!update->ids)
		return -ENOMEM;
	update->n_ids = n;
	update->ids_address = address;
	if (call_read(call, address, update->ids, n * sizeof *update->ids))
		return rule_errno(sim,
				  update->resume ? RULE_resume_bad_pointer_is_efault
						 : RULE_suspend_bad_pointer_is_efault,
				  -EFAULT, -EINVAL);
	for (uint32_t i = 0; i < n; i++) {
		if (!rule_holds(sim, RULE_input_bit_31_matches) &&
		    update->ids[i] & KFDABI_QUEUE_INVALID)
			update->ids[i] |= KFDABI_QUEUE_ERROR;
		update->ids[i] |= KFDABI_QUEUE_INVALID;
	}
	return 0;
}

/* Suspends a queue. Returns true if the call counts it as a success. A queue that was suspended
 * already counts, too. */
static bool suspend_one(struct queue *queue)
{
	const struct sim *sim = queue->process->sim;

	if (queue->suspended)
		return rule_holds(sim, RULE_suspend_counts_the_already_suspended);
	if (queue->exceptions & NEW_MASK && rule_holds(sim, RULE_suspend_skips_new_queues))
		return false;
	if (queue->being_destroyed)
		return false;
	if (queue->type == KFD_IOC_QUEUE_TYPE_SDMA &&
	    !rule_holds(sim, RULE_suspend_reaches_sdma_queues))
		return false;
	if (!queue_active(queue) && !rule_holds(sim, RULE_suspend_flags_an_inactive_queue))
		return false;
	if (queue->process->evictions[queue->node] &&
	    !rule_holds(sim, RULE_suspend_counts_the_evicted))
		return false;
	queue->suspended = true;
	queue->stalled = false;
	queue->record->suspends++;
	if (!rule_holds(sim, RULE_work_goes_on_where_it_stopped))
		queue->stopped = true; /* all its work is lost */
	return true;
}

/* Resumes a queue. Returns true if the call counts it as a success. A queue that was not suspended
 * counts, too. */
static bool resume_one(struct queue *queue)
{
	const struct sim *sim = queue->process->sim;

	if (!rule_holds(sim, RULE_resume_leaves_the_evicted_off))
		queue->process->evictions[queue->node] = 0;
	if (queue->suspended) {
		debug_resume_queue(queue);
		return true;
	}
	/* On one real GPU a queue that was not suspended counted, but stopped running. */
	if (sim->config.node.unmatched_resume_unmaps ||
	    !rule_holds(sim, RULE_unmatched_resume_changes_nothing))
		queue->stalled = true;
	return rule_holds(sim, RULE_resume_counts_the_never_suspended);
}

/* Returns true if the SUSPEND or RESUME call names the queue. Sets *@at to the index of the queue
 * in the array of ids, or to NOT_FOUND. */
static bool named(const struct runlist_update *update, const struct queue *queue, uint32_t *at)
{
	const struct sim *sim = update->sim;

	*at = update->ids ? find_id(update, queue) : NOT_FOUND;
	if (!update->ids ||
	    (!update->n_ids && !rule_holds(sim, RULE_resume_empty_array_resumes_none)) ||
	    (update->n_ids && !rule_holds(sim, RULE_only_named_queue_changes)))
		return update->resume || update->n_ids;
	return *at != NOT_FOUND;
}

/* Suspends or resumes the queues that the call names. Records the nodes to update, and the number
 * of successes on each node. */
static void mark(struct runlist_update *update)
{
	struct queue *queue;
	uint32_t at;

	TAILQ_FOREACH(queue, &update->process->queues, link)
	{
		if (!named(update, queue, &at) ||
		    (update->resume ? !resume_one(queue) : !suspend_one(queue)))
			continue;
		if (at != NOT_FOUND)
			update->ids[at] &= ~KFDABI_QUEUE_INVALID;
		update->nodes |= 1ull << queue->node;
		update->counted[queue->node]++;
	}
}

static int array(struct call *call, struct runlist_update *update, uint64_t address, uint32_t n)
{
	const struct sim *sim = call->sim;
	int r = 0;

	if (address)
		r = read_ids(call, update, address, n);
	else if (!update->resume && n)
		r = rule_errno(sim, RULE_suspend_null_array_is_einval, -EINVAL, -EFAULT);
	else if (!update->resume && !rule_holds(sim, RULE_suspend_null_empty_array_is_0))
		r = -EINVAL;
	else if (n && !rule_holds(sim, RULE_resume_null_array_ignores_the_number))
		r = -EFAULT;
	if (r) {
		if (!rule_holds(sim, RULE_failed_suspend_leaves_memory))
			(void)call_write(call, address, &n, sizeof n);
		free(update->ids);
		free(update);
		return r;
	}
	mark(update);
	runlist_update_begin(update);
	return CALL_PENDING;
}

/* Limits the period to the 8 bits of the register. For a period of 0 the driver writes 1. Linux 7.3
 * does not write the field at all if the firmware accepts a 0, so that the default stays. */
uint32_t debug_grace(const struct sim *sim, uint32_t wanted)
{
	const struct profile *chip = &sim->config.node;
	uint32_t safe = chip->gfx_target_version == 90010 ? 63 : 96;
	bool listed = sim->config.kernel >= KFDABI_LINUX_7_3 &&
		      (chip->gfx_target_version == 90010 || chip->gfx_target_version >= 90402) &&
		      (chip->gfx_target_version >= 90500 || chip->fw_version >= safe);

	if (wanted == KFDABI_GRACE_DEFAULT)
		return wanted;
	if (wanted)
		return wanted & 0xff;
	return listed ? KFDABI_GRACE_DEFAULT : 1;
}

int debug_suspend(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	struct runlist_update *update;

	if (a->u.suspend.grace_period > 0xff && a->u.suspend.grace_period != KFDABI_GRACE_DEFAULT &&
	    !rule_holds(call->sim, RULE_any_grace_period_is_accepted))
		return -EINVAL;
	update = runlist_update_new(target, call, array_done);
	if (!update)
		return -ENOMEM;
	update->clear_mask = a->u.suspend.exception_mask;
	update->grace = debug_grace(call->sim, a->u.suspend.grace_period);
	return array(call, update, a->u.suspend.queue_array_ptr, a->u.suspend.num_queues);
}

int debug_resume(struct call *call, struct process *target)
{
	const struct kfdabi_dbg_trap *a = (void *)call->data;
	struct runlist_update *update = runlist_update_new(target, call, array_done);

	if (!update)
		return -ENOMEM;
	update->resume = true;
	return array(call, update, a->u.resume.queue_array_ptr, a->u.resume.num_queues);
}

/* ---- GET_QUEUE_SNAPSHOT and GET_DEVICE_SNAPSHOT ---- */

#define PCI_VENDOR_AMD 0x1002u

static struct kfdabi_queue_snapshot queue_entry(const struct queue *queue)
{
	return (struct kfdabi_queue_snapshot){
		.exception_status = queue->exceptions,
		.ring_base_address = queue->ring,
		.write_pointer_address = queue->wptr_address,
		.read_pointer_address = queue->rptr_address,
		.ctx_save_restore_address = queue->save_address,
		.queue_id = queue->id,
		.gpu_id = queue->record->gpu_id,
		.ring_size = (uint32_t)queue->ring_bytes,
		.queue_type = queue->type,
		.ctx_save_restore_area_size = queue->save_bytes,
	};
}

/* Changes the snapshot entry if --break names a driver rule about snapshot entries. */
static void break_entry(const struct sim *sim, struct kfdabi_queue_snapshot *entry, uint64_t mask)
{
	if (!rule_holds(sim, RULE_queue_snapshot_fields))
		entry->read_pointer_address = entry->write_pointer_address;
	if (!rule_holds(sim, RULE_queue_snapshot_status_is_from_before_clearing))
		entry->exception_status &= ~mask;
	if (!rule_holds(sim, RULE_queue_snapshot_shows_updates) && !entry->ring_base_address)
		entry->ring_base_address = entry->read_pointer_address;
}

/* Copies one entry to the caller, and clears the exceptions in the caller's mask from the queue,
 * even if the caller's memory cannot be written. */
static int write_queue(struct call *call, struct queue *queue, uint32_t i, uint32_t stride)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	const struct sim *sim = call->sim;
	struct kfdabi_queue_snapshot entry = queue_entry(queue);
	uint64_t mask = a->u.queue_snapshot.exception_mask,
		 at = a->u.queue_snapshot.snapshot_buf_ptr;
	uint32_t bytes = a->u.queue_snapshot.entry_size;
	char tail[16] = {0};
	int r;

	break_entry(sim, &entry, mask);
	if (!rule_holds(sim, RULE_queue_snapshot_narrow_stride_cuts_entries))
		bytes = sizeof entry;
	if (!rule_holds(sim, RULE_queue_snapshot_wide_stride_leaves_tail) &&
	    stride >= sizeof entry + sizeof tail)
		(void)call_write(call, at + (uint64_t)i * stride + sizeof entry, tail, sizeof tail);
	r = call_write(call, at + (uint64_t)i * stride, &entry, bytes);
	if (rule_holds(sim, RULE_queue_snapshot_read_then_clear) &&
	    !(r && !rule_holds(sim, RULE_queue_snapshot_failed_entry_is_cleared)))
		queue->exceptions &= ~mask;
	return r ? -EFAULT : 0;
}

static struct queue *first_queue(const struct process *target, bool oldest)
{
	return oldest ? TAILQ_LAST(&target->queues, queue_list) : TAILQ_FIRST(&target->queues);
}

static struct queue *next_queue(struct queue *queue, bool oldest)
{
	return oldest ? TAILQ_PREV(queue, queue_list, link) : TAILQ_NEXT(queue, link);
}

int debug_queue_snapshot(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	uint32_t room = a->u.queue_snapshot.num_queues, stride = a->u.queue_snapshot.entry_size;
	const struct sim *sim = call->sim;
	bool oldest = !rule_holds(sim, RULE_queue_snapshot_newest_first);
	struct queue *queue;
	uint32_t n = 0;

	a->u.queue_snapshot.num_queues = 0;
	if (!stride)
		return rule_errno(sim, RULE_queue_snapshot_entry_size_0_is_einval, -EINVAL, 0);
	if (room > QUEUE_IDS_MAX && !rule_holds(sim, RULE_queue_snapshot_huge_capacity))
		return -ENOMEM;
	if (stride > sizeof(struct kfdabi_queue_snapshot))
		a->u.queue_snapshot.entry_size = sizeof(struct kfdabi_queue_snapshot);
	for (queue = first_queue(target, oldest); queue; queue = next_queue(queue, oldest)) {
		if (n < room && write_queue(call, queue, n, stride)) {
			a->u.queue_snapshot.num_queues = n;
			runlist_update_collected(target);
			return rule_errno(sim, RULE_queue_snapshot_bad_buffer_is_efault, -EFAULT,
					  -EINVAL);
		}
		n++;
		if (n > room && !rule_holds(sim, RULE_queue_snapshot_clears_only_copied_entries))
			queue->exceptions &= ~a->u.queue_snapshot.exception_mask;
	}
	if (!rule_holds(sim, RULE_queue_snapshot_forgets_the_destroyed) && room > n)
		n++;
	if ((!rule_holds(sim, RULE_queue_snapshot_count_probe) && !room) ||
	    (!rule_holds(sim, RULE_queue_snapshot_tells_the_true_total) && n > room))
		n = room;
	a->u.queue_snapshot.num_queues = n;
	runlist_update_collected(target);
	return 0;
}

static struct kfdabi_device_snapshot device_entry(const struct process *target, uint32_t i)
{
	const struct sim *sim = target->sim;
	const struct sim_config *config = &sim->config;
	const struct profile *chip = &config->node;
	struct kfd_process_device_apertures apertures;
	struct kfdabi_device_snapshot entry = {
		.gpu_id = sim->nodes[i].gpu_id,
		.location_id = config->locations[i],
		.vendor_id = PCI_VENDOR_AMD,
		.device_id = chip->device_id,
		.revision_id = chip->pci_revision,
		.subsystem_vendor_id = PCI_VENDOR_AMD,
		.subsystem_device_id = chip->device_id,
		.fw_version = chip->fw_version,
		.gfx_target_version = chip->gfx_target_version,
		.simd_count = chip->simd_count,
		.max_waves_per_simd = chip->max_waves_per_simd,
		.array_count = chip->array_count / config->gpu.xccs,
		.simd_arrays_per_engine = chip->simd_arrays_per_engine,
		.num_xcc = config->gpu.xccs,
		.capability = chip->capability,
		.debug_prop = (uint32_t)chip->debug_prop,
	};

	memory_apertures(&apertures);
	entry.lds_base = apertures.lds_base;
	entry.lds_limit = apertures.lds_limit;
	entry.scratch_base = apertures.scratch_base;
	entry.scratch_limit = apertures.scratch_limit;
	entry.gpuvm_base = apertures.gpuvm_base;
	entry.gpuvm_limit = apertures.gpuvm_limit;
	if (!rule_holds(sim, RULE_device_snapshot_array_count_is_per_xcc))
		entry.array_count = chip->array_count;
	if (!rule_holds(sim, RULE_device_snapshot_tells_the_topology))
		entry.simd_count /= 2;
	if (!rule_holds(sim, RULE_device_snapshot_tells_the_apertures))
		entry.lds_base = 0;
	return entry;
}

int debug_device_snapshot(struct call *call, struct process *target)
{
	struct kfdabi_dbg_trap *a = (void *)call->data;
	const struct sim *sim = call->sim;
	uint32_t room = a->u.device_snapshot.num_devices, stride = a->u.device_snapshot.entry_size;
	uint32_t bytes = sizeof(struct kfdabi_device_snapshot), step = stride;
	uint64_t at = a->u.device_snapshot.snapshot_buf_ptr;

	if (!at && rule_holds(sim, RULE_device_snapshot_null_is_einval))
		return -EINVAL;
	if (!stride && !rule_holds(sim, RULE_device_snapshot_entry_size_0_counts))
		return -EINVAL;
	if (!like_linux_7(sim, RULE_device_snapshot_entry_is_120_bytes,
			  RULE_device_snapshot_entry_is_128_bytes))
		bytes = KFDABI_DEVICE_SNAPSHOT_BYTES_1_17;
	if (bytes > stride)
		bytes = stride;
	if (!rule_holds(sim, RULE_device_snapshot_stride))
		step = bytes;
	a->u.device_snapshot.entry_size = bytes;
	a->u.device_snapshot.num_devices =
		rule_holds(sim, RULE_device_snapshot_count_probe) ? sim->nodes_n : room;
	for (uint32_t i = 0; i < room && i < sim->nodes_n; i++) {
		struct kfdabi_device_snapshot entry = device_entry(target, i);

		if (call_write(call, at + (uint64_t)i * step, &entry, bytes))
			return rule_errno(sim, RULE_device_snapshot_bad_buffer_is_efault, -EFAULT,
					  -EINVAL);
	}
	return 0;
}
