// SPDX-License-Identifier: MIT
/* GET_QUEUE_SNAPSHOT and GET_DEVICE_SNAPSHOT. */
#include <errno.h>

#include "sim/driver/debug.h"
#include "sim/driver/memory.h"

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
