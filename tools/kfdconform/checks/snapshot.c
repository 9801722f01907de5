// SPDX-License-Identifier: MIT
/* GET_QUEUE_SNAPSHOT and GET_DEVICE_SNAPSHOT. */
#include <string.h>

#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/self_debug.h"

#define ENTRY sizeof(struct kfdabi_queue_snapshot)
#define DEVICE sizeof(struct kfdabi_device_snapshot)
#define FILL 0x5a

/* The arguments as changed by the driver are returned in *args. */
static int snapshot(struct self_debug *self, void *buffer, uint32_t n, uint32_t stride,
		    uint64_t mask, struct kfdabi_dbg_trap *args)
{
	*args = (struct kfdabi_dbg_trap){
		.u.queue_snapshot = {.exception_mask = mask,
				     .snapshot_buf_ptr = (uint64_t)(uintptr_t)buffer,
				     .num_queues = n,
				     .entry_size = stride}};
	return self_debug_trap(self, args, KFDABI_TRAP_GET_QUEUE_SNAPSHOT);
}

static int devices(struct self_debug *self, void *buffer, uint32_t n, uint32_t stride,
		   struct kfdabi_dbg_trap *args)
{
	*args = (struct kfdabi_dbg_trap){
		.u.device_snapshot = {.snapshot_buf_ptr = (uint64_t)(uintptr_t)buffer,
				      .num_devices = n,
				      .entry_size = stride}};
	return self_debug_trap(self, args, KFDABI_TRAP_GET_DEVICE_SNAPSHOT);
}

/* Creates two queues before the session, which are therefore NEW. */
static void open_new(struct self_debug *self)
{
	self_debug_prepare(self);
	queue_new(&self->gpu, &self->queues[0]);
	queue_new(&self->gpu, &self->queues[1]);
	self_debug_enable(self, 0);
}

/* Returns the exceptions of a queue; 0 is the newest queue. Clears none. */
static uint64_t status(struct self_debug *self, unsigned newest)
{
	struct kfdabi_queue_snapshot entries[SELF_DEBUG_QUEUES] = {0};
	struct kfdabi_dbg_trap a;

	CHECK_IS(snapshot(self, entries, SELF_DEBUG_QUEUES, ENTRY, 0, &a), 0);
	CHECK(a.u.queue_snapshot.num_queues > newest);
	return entries[newest].exception_status;
}

void check_queue_snapshot_entry_size_0_is_einval(void)
{
	struct kfdabi_queue_snapshot entry;
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, &entry, 1, 0, NEW_MASK, &a), -EINVAL);
	CHECK_IS(a.u.queue_snapshot.num_queues, 0);
	CHECK_IS(status(&self, 0), NEW_MASK);
}

void check_queue_snapshot_count_probe(void)
{
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, NULL, 0, ENTRY, NEW_MASK, &a), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 2);
	CHECK_IS(status(&self, 0), NEW_MASK); /* a call that only counts clears nothing */
}

void check_queue_snapshot_tells_the_true_total(void)
{
	struct kfdabi_queue_snapshot entries[4];
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, entries, 1, ENTRY, 0, &a), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 2);
	CHECK_IS(snapshot(&self, entries, 4, ENTRY, 0, &a), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 2);
}

void check_queue_snapshot_newest_first(void)
{
	struct kfdabi_queue_snapshot entries[2];
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, entries, 2, ENTRY, 0, &a), 0);
	CHECK_IS(entries[0].queue_id, self.queues[1].id);
	CHECK_IS(entries[1].queue_id, self.queues[0].id);
}

void check_queue_snapshot_fields(void)
{
	const struct kfdabi_queue_snapshot *compute, *sdma;
	struct kfdabi_queue_snapshot entries[2];
	struct raw_queue *queue, copies;
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	self_debug_prepare(&self);
	queue = &self.queues[0];
	queue_new(&self.gpu, queue);
	self_debug_sdma(&self, &copies);
	self_debug_enable(&self, 0);
	CHECK_IS(snapshot(&self, entries, 2, ENTRY, 0, &a), 0);
	compute = &entries[1];
	sdma = &entries[0];
	CHECK(compute->ring_base_address == (uintptr_t)queue->ring.cpu);
	CHECK(compute->write_pointer_address == (uintptr_t)queue_wptr(queue));
	CHECK(compute->read_pointer_address == (uintptr_t)queue_rptr(queue));
	CHECK(compute->ctx_save_restore_address == (uintptr_t)queue->save.cpu);
	CHECK_IS(compute->gpu_id, self.gpu.gpu_id);
	CHECK_IS(compute->ring_size, RING_PACKETS * 64);
	CHECK_IS(compute->queue_type, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	CHECK_IS(compute->ctx_save_restore_area_size, self.gpu.shape.cwsr_bytes);
	CHECK_IS(sdma->queue_id, copies.id);
	CHECK_IS(sdma->queue_type, KFD_IOC_QUEUE_TYPE_SDMA);
	CHECK(sdma->ring_base_address == (uintptr_t)copies.ring.cpu);
}

void check_queue_snapshot_status_is_from_before_clearing(void)
{
	struct kfdabi_queue_snapshot entries[2];
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, entries, 2, ENTRY, NEW_MASK, &a), 0);
	CHECK_IS(entries[0].exception_status, NEW_MASK);
	CHECK_IS(entries[1].exception_status, NEW_MASK);
}

void check_queue_snapshot_read_then_clear(void)
{
	struct kfdabi_queue_snapshot entries[2];
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, entries, 2, ENTRY, ~NEW_MASK, &a), 0);
	CHECK_IS(status(&self, 0), NEW_MASK); /* only exceptions in the mask are cleared */
	CHECK_IS(snapshot(&self, entries, 2, ENTRY, NEW_MASK, &a), 0);
	CHECK_IS(status(&self, 0), 0);
	CHECK_IS(status(&self, 1), 0);
	self_debug_suspend_one(&self, &self.queues[0]);
}

void check_queue_snapshot_clears_only_copied_entries(void)
{
	struct kfdabi_queue_snapshot entry;
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, &entry, 1, ENTRY, NEW_MASK, &a), 0);
	CHECK_IS(status(&self, 0), 0);
	CHECK_IS(status(&self, 1), NEW_MASK);
}

void check_queue_snapshot_wide_stride_leaves_tail(void)
{
	char buffer[2][ENTRY + 32];
	struct kfdabi_queue_snapshot first, second;
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	memset(buffer, FILL, sizeof buffer);
	CHECK_IS(snapshot(&self, buffer, 2, sizeof buffer[0], 0, &a), 0);
	memcpy(&first, buffer[0], sizeof first);
	memcpy(&second, buffer[1], sizeof second);
	CHECK_IS(first.queue_id, self.queues[1].id);
	CHECK_IS(second.queue_id, self.queues[0].id);
	for (unsigned i = ENTRY; i < sizeof buffer[0]; i++)
		CHECK(buffer[0][i] == FILL && buffer[1][i] == FILL);
	CHECK_IS(a.u.queue_snapshot.entry_size, ENTRY); /* the driver's own size is copied back */
}

void check_queue_snapshot_narrow_stride_cuts_entries(void)
{
	char buffer[3 * 16];
	uint64_t rings[2];
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	memset(buffer, FILL, sizeof buffer);
	CHECK_IS(snapshot(&self, buffer, 2, 16, 0, &a), 0);
	CHECK_IS(a.u.queue_snapshot.entry_size, 16);
	for (unsigned i = 0; i < 2; i++)
		memcpy(&rings[i], buffer + i * 16ul + 8, sizeof rings[i]);
	CHECK(rings[0] == (uintptr_t)self.queues[1].ring.cpu);
	CHECK(rings[1] == (uintptr_t)self.queues[0].ring.cpu);
	for (unsigned i = 32; i < sizeof buffer; i++)
		CHECK(buffer[i] == FILL);
}

void check_queue_snapshot_huge_capacity(void)
{
	struct kfdabi_queue_snapshot entries[2];
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, entries, UINT32_MAX, ENTRY, 0, &a), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 2);
	CHECK_IS(entries[1].queue_id, self.queues[0].id);
}

void check_queue_snapshot_bad_buffer_is_efault(void)
{
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, (void *)8, 2, ENTRY, NEW_MASK, &a), -EFAULT);
	CHECK_IS(a.u.queue_snapshot.num_queues, 0);
}

void check_queue_snapshot_failed_entry_is_cleared(void)
{
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(snapshot(&self, (void *)8, 2, ENTRY, NEW_MASK, &a), -EFAULT);
	CHECK_IS(status(&self, 0), 0);
	CHECK_IS(status(&self, 1), NEW_MASK);
}

void check_queue_snapshot_shows_updates(void)
{
	struct kfdabi_queue_snapshot entry;
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	self_debug_open(&self, 1);
	CHECK_IS(self_debug_update(&self, &self.queues[0], false, 100), 0);
	CHECK_IS(snapshot(&self, &entry, 1, ENTRY, 0, &a), 0);
	CHECK_IS(entry.ring_base_address, 0);
	CHECK_IS(self_debug_update(&self, &self.queues[0], true, 100), 0);
	CHECK_IS(snapshot(&self, &entry, 1, ENTRY, 0, &a), 0);
	CHECK(entry.ring_base_address == (uintptr_t)self.queues[0].ring.cpu);
}

void check_queue_snapshot_forgets_the_destroyed(void)
{
	struct kfdabi_queue_snapshot entries[2];
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	open_new(&self);
	CHECK_IS(queue_destroy(&self.gpu, self.queues[1].id), 0);
	CHECK_IS(snapshot(&self, entries, 2, ENTRY, 0, &a), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 1);
	CHECK_IS(entries[0].queue_id, self.queues[0].id);
}

/* ---- devices ---- */

void check_device_snapshot_null_is_einval(void)
{
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	self_debug_open(&self, 0);
	CHECK_IS(devices(&self, NULL, 0, DEVICE, &a), -EINVAL);
	CHECK_IS(devices(&self, NULL, 1, DEVICE, &a), -EINVAL);
}

void check_device_snapshot_count_probe(void)
{
	struct kfdabi_device_snapshot entry;
	struct kfdabi_machine machine;
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	self_debug_open(&self, 0);
	CHECK_IS(harness_machine(&machine), 0);
	memset(&entry, FILL, sizeof entry);
	CHECK_IS(devices(&self, &entry, 0, DEVICE, &a), 0);
	CHECK_IS(a.u.device_snapshot.num_devices, machine.nodes);
	CHECK_IS(((char *)&entry)[0], FILL);
}

void check_device_snapshot_entry_size_0_counts(void)
{
	struct kfdabi_device_snapshot entry;
	struct kfdabi_machine machine;
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	self_debug_open(&self, 0);
	CHECK_IS(harness_machine(&machine), 0);
	memset(&entry, FILL, sizeof entry);
	CHECK_IS(devices(&self, &entry, 1, 0, &a), 0);
	CHECK_IS(a.u.device_snapshot.num_devices, machine.nodes);
	CHECK_IS(((char *)&entry)[0], FILL);
}

/* Returns the number of bytes of an entry that the driver writes. */
static unsigned device_bytes(void)
{
	char buffer[DEVICE + 64];
	struct kfdabi_dbg_trap a;
	struct self_debug self;
	unsigned n = sizeof buffer;

	self_debug_open(&self, 0);
	memset(buffer, FILL, sizeof buffer);
	CHECK_IS(devices(&self, buffer, 1, sizeof buffer, &a), 0);
	while (n && buffer[n - 1] == FILL)
		n--;
	CHECK_IS(a.u.device_snapshot.entry_size, n);
	return n;
}

void check_device_snapshot_entry_is_120_bytes(void)
{
	CHECK_IS(device_bytes(), KFDABI_DEVICE_SNAPSHOT_BYTES_1_17);
}

void check_device_snapshot_entry_is_128_bytes(void)
{
	CHECK_IS(device_bytes(), DEVICE);
}

void check_device_snapshot_stride(void)
{
	char buffer[2][DEVICE + 24];
	struct kfdabi_device_snapshot entries[2];
	struct gpu_shape shape;
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	self_debug_open(&self, 0);
	CHECK_IS(harness_shape(1, &shape), 0);
	memset(buffer, FILL, sizeof buffer);
	CHECK_IS(devices(&self, buffer, 2, sizeof buffer[0], &a), 0);
	for (unsigned i = 0; i < 2; i++)
		memcpy(&entries[i], buffer[i], DEVICE);
	CHECK_IS(entries[0].gpu_id, self.gpu.gpu_id);
	CHECK_IS(entries[1].gpu_id, shape.gpu_id);
	CHECK(buffer[0][DEVICE] == FILL && buffer[1][DEVICE] == FILL);
}

void check_device_snapshot_bad_buffer_is_efault(void)
{
	struct kfdabi_machine machine;
	struct kfdabi_dbg_trap a;
	struct self_debug self;

	self_debug_open(&self, 0);
	CHECK_IS(harness_machine(&machine), 0);
	CHECK_IS(devices(&self, (void *)8, 1, DEVICE, &a), -EFAULT);
	CHECK_IS(a.u.device_snapshot.num_devices, machine.nodes);
}

static uint64_t topology(const struct self_debug *self, const char *key)
{
	uint64_t value = 0;

	CHECK_IS(harness_node_number(self->gpu.shape.node, "properties", key, &value), 0);
	return value;
}

static void first_device(struct self_debug *self, struct kfdabi_device_snapshot *entry)
{
	struct kfdabi_dbg_trap a;

	self_debug_open(self, 0);
	memset(entry, 0, sizeof *entry);
	CHECK_IS(devices(self, entry, 1, DEVICE, &a), 0);
}

void check_device_snapshot_tells_the_topology(void)
{
	struct kfdabi_device_snapshot e;
	struct self_debug self;

	first_device(&self, &e);
	CHECK_IS(e.gpu_id, self.gpu.gpu_id);
	CHECK_IS(e.location_id, topology(&self, "location_id"));
	CHECK_IS(e.vendor_id, topology(&self, "vendor_id"));
	CHECK_IS(e.device_id, topology(&self, "device_id"));
	CHECK_IS(e.fw_version, topology(&self, "fw_version"));
	CHECK_IS(e.gfx_target_version, topology(&self, "gfx_target_version"));
	CHECK_IS(e.simd_count, topology(&self, "simd_count"));
	CHECK_IS(e.max_waves_per_simd, topology(&self, "max_waves_per_simd"));
	CHECK_IS(e.simd_arrays_per_engine, topology(&self, "simd_arrays_per_engine"));
	CHECK_IS(e.num_xcc, self.gpu.shape.xccs);
	CHECK_IS(e.capability, topology(&self, "capability"));
	CHECK_IS(e.debug_prop, topology(&self, "debug_prop"));
	CHECK_IS(e.exception_status, 0);
}

void check_device_snapshot_tells_the_apertures(void)
{
	struct kfd_process_device_apertures apertures[1] = {0};
	struct kfd_ioctl_get_process_apertures_new_args a = {.kfd_process_device_apertures_ptr =
								     (uint64_t)(uintptr_t)apertures,
							     .num_of_nodes = 1};
	struct kfdabi_device_snapshot e;
	struct self_debug self;

	first_device(&self, &e);
	CHECK_IS(harness_ioctl(self.gpu.kfd, KFDABI_GET_PROCESS_APERTURES_NEW, &a, sizeof a), 0);
	CHECK(e.lds_base == apertures[0].lds_base && e.lds_limit == apertures[0].lds_limit);
	CHECK(e.scratch_base == apertures[0].scratch_base);
	CHECK(e.scratch_limit == apertures[0].scratch_limit);
	CHECK(e.gpuvm_base == apertures[0].gpuvm_base);
	CHECK(e.gpuvm_limit == apertures[0].gpuvm_limit);
	CHECK(e.lds_limit > e.lds_base);
}

void check_device_snapshot_array_count_is_per_xcc(void)
{
	struct kfdabi_device_snapshot e;
	struct self_debug self;

	first_device(&self, &e);
	CHECK_IS((uint64_t)e.array_count * e.num_xcc, topology(&self, "array_count"));
}
