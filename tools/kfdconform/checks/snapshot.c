// SPDX-License-Identifier: MIT
/* Checks of GET_QUEUE_SNAPSHOT and GET_DEVICE_SNAPSHOT. */
#include <pthread.h>
#include <string.h>

#include "common/clock.h"
#include "common/wait.h"
#include "tools/kfdconform/checks.h"

#define ENTRY sizeof(struct kfdabi_queue_snapshot)
#define DEVICE sizeof(struct kfdabi_device_snapshot)
#define FILL 0x5a

/* The arguments of the last call, as the driver has changed them. */
static struct kfdabi_dbg_trap a;
static struct kfdabi_queue_snapshot entries[SELF_DEBUG_QUEUES];
static struct kfdabi_device_snapshot device;

static int snapshot(void *buffer, uint32_t n, uint32_t stride, uint64_t mask)
{
	a = (struct kfdabi_dbg_trap){
		.u.queue_snapshot = {.exception_mask = mask,
				     .snapshot_buf_ptr = (uint64_t)(uintptr_t)buffer,
				     .num_queues = n,
				     .entry_size = stride}};
	return self_debug_trap(&a, KFDABI_TRAP_GET_QUEUE_SNAPSHOT);
}

static int devices(void *buffer, uint32_t n, uint32_t stride)
{
	a = (struct kfdabi_dbg_trap){
		.u.device_snapshot = {.snapshot_buf_ptr = (uint64_t)(uintptr_t)buffer,
				      .num_devices = n,
				      .entry_size = stride}};
	return self_debug_trap(&a, KFDABI_TRAP_GET_DEVICE_SNAPSHOT);
}

/* Creates two queues before it opens the session, so that both queues have the exception NEW. */
static void open_new(void)
{
	self_debug_prepare();
	queue_new(&self.gpu, &self.queues[0]);
	queue_new(&self.gpu, &self.queues[1]);
	self_debug_enable(0);
}

/* Returns the exceptions of a queue, clearing none. `newest` is 0 for the newest queue and 1 for
 * the one created before it. */
static uint64_t status(unsigned newest)
{
	memset(entries, 0, sizeof entries);
	CHECK_IS(snapshot(entries, SELF_DEBUG_QUEUES, ENTRY, 0), 0);
	CHECK(a.u.queue_snapshot.num_queues > newest);
	return entries[newest].exception_status;
}

static RULE_CHECK(queue_snapshot_entry_size_0_is_einval, open_new())
{
	CHECK_IS(snapshot(entries, 1, 0, NEW_MASK), -EINVAL);
	CHECK_IS(a.u.queue_snapshot.num_queues, 0);
	CHECK_IS(status(0), NEW_MASK);
}

static RULE_CHECK(queue_snapshot_count_probe, open_new())
{
	CHECK_IS(snapshot(NULL, 0, ENTRY, NEW_MASK), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 2);
	CHECK_IS(status(0), NEW_MASK); /* a call that only counts clears nothing */
}

static RULE_CHECK(queue_snapshot_tells_the_true_total, open_new())
{
	CHECK_IS(snapshot(entries, 1, ENTRY, 0), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 2);
	CHECK_IS(snapshot(entries, 4, ENTRY, 0), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 2);
}

static RULE_CHECK(queue_snapshot_newest_first, open_new())
{
	CHECK_IS(snapshot(entries, 2, ENTRY, 0), 0);
	CHECK_IS(entries[0].queue_id, self.queues[1].id);
	CHECK_IS(entries[1].queue_id, self.queues[0].id);
}

static RULE_CHECK(queue_snapshot_fields, self_debug_prepare())
{
	const struct kfdabi_queue_snapshot *compute, *sdma;
	struct raw_queue *queue, copies;

	queue = &self.queues[0];
	queue_new(&self.gpu, queue);
	self_debug_sdma(&copies);
	self_debug_enable(0);
	CHECK_IS(snapshot(entries, 2, ENTRY, 0), 0);
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

static RULE_CHECK(queue_snapshot_status_is_from_before_clearing, open_new())
{
	CHECK_IS(snapshot(entries, 2, ENTRY, NEW_MASK), 0);
	CHECK_IS(entries[0].exception_status, NEW_MASK);
	CHECK_IS(entries[1].exception_status, NEW_MASK);
}

static RULE_CHECK(queue_snapshot_read_then_clear, open_new())
{
	CHECK_IS(snapshot(entries, 2, ENTRY, ~NEW_MASK), 0);
	CHECK_IS(status(0), NEW_MASK); /* only exceptions in the mask are cleared */
	CHECK_IS(snapshot(entries, 2, ENTRY, NEW_MASK), 0);
	CHECK_IS(status(0), 0);
	CHECK_IS(status(1), 0);
	self_debug_suspend_one(&self.queues[0]);
}

static RULE_CHECK(queue_snapshot_clears_only_copied_entries, open_new())
{
	CHECK_IS(snapshot(entries, 1, ENTRY, NEW_MASK), 0);
	CHECK_IS(status(0), 0);
	CHECK_IS(status(1), NEW_MASK);
}

static RULE_CHECK(queue_snapshot_wide_stride_leaves_tail, open_new())
{
	char buffer[2][ENTRY + 32];
	struct kfdabi_queue_snapshot first, second;

	memset(buffer, FILL, sizeof buffer);
	CHECK_IS(snapshot(buffer, 2, sizeof buffer[0], 0), 0);
	memcpy(&first, buffer[0], sizeof first);
	memcpy(&second, buffer[1], sizeof second);
	CHECK_IS(first.queue_id, self.queues[1].id);
	CHECK_IS(second.queue_id, self.queues[0].id);
	for (unsigned i = ENTRY; i < sizeof buffer[0]; i++)
		CHECK(buffer[0][i] == FILL && buffer[1][i] == FILL);
	CHECK_IS(a.u.queue_snapshot.entry_size, ENTRY); /* the driver's own size is copied back */
}

static RULE_CHECK(queue_snapshot_narrow_stride_cuts_entries, open_new())
{
	char buffer[3 * 16];
	uint64_t rings[2];

	memset(buffer, FILL, sizeof buffer);
	CHECK_IS(snapshot(buffer, 2, 16, 0), 0);
	CHECK_IS(a.u.queue_snapshot.entry_size, 16);
	for (unsigned i = 0; i < 2; i++)
		memcpy(&rings[i], buffer + i * 16ul + 8, sizeof rings[i]);
	CHECK(rings[0] == (uintptr_t)self.queues[1].ring.cpu);
	CHECK(rings[1] == (uintptr_t)self.queues[0].ring.cpu);
	for (unsigned i = 32; i < sizeof buffer; i++)
		CHECK(buffer[i] == FILL);
}

static RULE_CHECK(queue_snapshot_huge_capacity, open_new())
{
	CHECK_IS(snapshot(entries, UINT32_MAX, ENTRY, 0), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 2);
	CHECK_IS(entries[1].queue_id, self.queues[0].id);
}

static RULE_CHECK(queue_snapshot_bad_buffer_is_efault, open_new())
{
	CHECK_IS(snapshot((void *)8, 2, ENTRY, NEW_MASK), -EFAULT);
	CHECK_IS(a.u.queue_snapshot.num_queues, 0);
}

static RULE_CHECK(queue_snapshot_failed_entry_is_cleared, open_new())
{
	CHECK_IS(snapshot((void *)8, 2, ENTRY, NEW_MASK), -EFAULT);
	CHECK_IS(status(0), 0);
	CHECK_IS(status(1), NEW_MASK);
}

static RULE_CHECK(queue_snapshot_shows_updates, self_debug_open(1))
{
	CHECK_IS(self_debug_update(&self.queues[0], false, 100), 0);
	CHECK_IS(snapshot(entries, 1, ENTRY, 0), 0);
	CHECK_IS(entries[0].ring_base_address, 0);
	CHECK_IS(self_debug_update(&self.queues[0], true, 100), 0);
	CHECK_IS(snapshot(entries, 1, ENTRY, 0), 0);
	CHECK(entries[0].ring_base_address == (uintptr_t)self.queues[0].ring.cpu);
}

static RULE_CHECK(queue_snapshot_forgets_the_destroyed, open_new())
{
	CHECK_IS(queue_destroy(&self.gpu, self.queues[1].id), 0);
	CHECK_IS(snapshot(entries, 2, ENTRY, 0), 0);
	CHECK_IS(a.u.queue_snapshot.num_queues, 1);
	CHECK_IS(entries[0].queue_id, self.queues[0].id);
}

/* ---- devices ---- */

static unsigned gpus(void)
{
	struct kfdabi_machine machine;

	CHECK_IS(harness_machine(&machine), 0);
	return machine.nodes;
}

static RULE_CHECK(device_snapshot_null_is_einval, self_debug_open(0))
{
	CHECK_IS(devices(NULL, 0, DEVICE), -EINVAL);
	CHECK_IS(devices(NULL, 1, DEVICE), -EINVAL);
}

static RULE_CHECK(device_snapshot_count_probe, self_debug_open(0))
{
	memset(&device, FILL, sizeof device);
	CHECK_IS(devices(&device, 0, DEVICE), 0);
	CHECK_IS(a.u.device_snapshot.num_devices, gpus());
	CHECK_IS(((char *)&device)[0], FILL);
}

static RULE_CHECK(device_snapshot_entry_size_0_counts, self_debug_open(0))
{
	memset(&device, FILL, sizeof device);
	CHECK_IS(devices(&device, 1, 0), 0);
	CHECK_IS(a.u.device_snapshot.num_devices, gpus());
	CHECK_IS(((char *)&device)[0], FILL);
}

/* Returns the number of bytes of an entry that the driver writes. */
static unsigned device_bytes(void)
{
	char buffer[DEVICE + 64];
	unsigned n = sizeof buffer;

	memset(buffer, FILL, sizeof buffer);
	CHECK_IS(devices(buffer, 1, sizeof buffer), 0);
	while (n && buffer[n - 1] == FILL)
		n--;
	CHECK_IS(a.u.device_snapshot.entry_size, n);
	return n;
}

RULE_IS(device_snapshot_entry_is_120_bytes, self_debug_open(0), device_bytes(),
	KFDABI_DEVICE_SNAPSHOT_BYTES_1_17)
RULE_IS(device_snapshot_entry_is_128_bytes, self_debug_open(0), device_bytes(), DEVICE)

static RULE_CHECK(device_snapshot_stride, self_debug_open(0))
{
	char buffer[2][DEVICE + 24];
	struct kfdabi_device_snapshot both[2];
	struct gpu_shape shape;

	CHECK_IS(harness_shape(1, &shape), 0);
	memset(buffer, FILL, sizeof buffer);
	CHECK_IS(devices(buffer, 2, sizeof buffer[0]), 0);
	for (unsigned i = 0; i < 2; i++)
		memcpy(&both[i], buffer[i], DEVICE);
	CHECK_IS(both[0].gpu_id, self.gpu.gpu_id);
	CHECK_IS(both[1].gpu_id, shape.gpu_id);
	CHECK(buffer[0][DEVICE] == FILL && buffer[1][DEVICE] == FILL);
}

static RULE_CHECK(device_snapshot_bad_buffer_is_efault, self_debug_open(0))
{
	CHECK_IS(devices((void *)8, 1, DEVICE), -EFAULT);
	CHECK_IS(a.u.device_snapshot.num_devices, gpus());
}

static uint64_t topology(const char *key)
{
	return harness_property(self.gpu.shape.node, key);
}

static void first_device(void)
{
	self_debug_open(0);
	CHECK_IS(devices(&device, 1, DEVICE), 0);
}

static RULE_CHECK(device_snapshot_tells_the_topology, first_device())
{
	CHECK_IS(device.gpu_id, self.gpu.gpu_id);
	CHECK_IS(device.location_id, topology("location_id"));
	CHECK_IS(device.vendor_id, topology("vendor_id"));
	CHECK_IS(device.device_id, topology("device_id"));
	CHECK_IS(device.fw_version, topology("fw_version"));
	CHECK_IS(device.gfx_target_version, topology("gfx_target_version"));
	CHECK_IS(device.simd_count, topology("simd_count"));
	CHECK_IS(device.max_waves_per_simd, topology("max_waves_per_simd"));
	CHECK_IS(device.simd_arrays_per_engine, topology("simd_arrays_per_engine"));
	CHECK_IS(device.num_xcc, self.gpu.shape.xccs);
	CHECK_IS(device.capability, topology("capability"));
	CHECK_IS(device.debug_prop, topology("debug_prop"));
	CHECK_IS(device.exception_status, 0);
}

static RULE_CHECK(device_snapshot_tells_the_apertures, first_device())
{
	struct kfd_process_device_apertures apertures[1] = {0};
	struct kfd_ioctl_get_process_apertures_new_args query = {
		.kfd_process_device_apertures_ptr = (uint64_t)(uintptr_t)apertures,
		.num_of_nodes = 1};

	CHECK_IS(
		harness_ioctl(self.gpu.kfd, KFDABI_GET_PROCESS_APERTURES_NEW, &query, sizeof query),
		0);
	CHECK(device.lds_base == apertures[0].lds_base &&
	      device.lds_limit == apertures[0].lds_limit);
	CHECK(device.scratch_base == apertures[0].scratch_base);
	CHECK(device.scratch_limit == apertures[0].scratch_limit);
	CHECK(device.gpuvm_base == apertures[0].gpuvm_base);
	CHECK(device.gpuvm_limit == apertures[0].gpuvm_limit);
	CHECK(device.lds_limit > device.lds_base);
}

RULE_IS(device_snapshot_array_count_is_per_xcc, first_device(),
	(uint64_t)device.array_count *device.num_xcc, topology("array_count"))

/* ---- snapshots by several threads while CREATE_QUEUE waits for the firmware ---- */

#define TRIES_MS 15000u	   /* time for attempts on a busy machine; usually one is enough */
#define ROUNDS_ENOUGH 100u /* if no queue was NEW twice in so many rounds, the check fails */
#define WATCHERS 3u
#define PAUSE_NS 50000u

struct creator {
	struct raw_queue queue;
	struct kfdabi_create_queue args;
	unsigned seen; /* number of snapshots in which the queue of this round was NEW */
	unsigned rounds;
	bool twice, ended;
};

struct watcher {
	pthread_t thread;
	struct creator *creator;
	unsigned steps; /* odd: a snapshot is in progress or not yet counted */
};

/* Takes a snapshot. Adds 1 to creator->seen if the newest queue had the exception NEW, which the
 * snapshot clears. */
static void take_snapshot(struct creator *creator)
{
	struct kfdabi_queue_snapshot entry = {0};
	uint32_t n = 1;

	CHECK_IS(trap_snapshot(self.gpu.kfd, self.own_pid, NEW_MASK, &entry, &n), 0);
	if (n && entry.exception_status & NEW_MASK)
		__atomic_fetch_add(&creator->seen, 1, __ATOMIC_SEQ_CST);
}

/* Body of a thread that takes snapshots, and sleeps between them, because the kernel soon runs a
 * thread that sleeps often, even on a busy machine. */
static void *watch(void *arg)
{
	struct watcher *watcher = arg;
	struct creator *creator = watcher->creator;

	while (!__atomic_load_n(&creator->ended, __ATOMIC_SEQ_CST)) {
		__atomic_fetch_add(&watcher->steps, 1, __ATOMIC_SEQ_CST);
		take_snapshot(creator);
		__atomic_fetch_add(&watcher->steps, 1, __ATOMIC_SEQ_CST);
		sleep_ns(PAUSE_NS);
	}
	return NULL;
}

/* Body of a thread that causes runlist updates all the time. Each update blocks the process:
 * CREATE_QUEUE has to wait, and further calls wait behind CREATE_QUEUE. */
static void *hold_up(void *arg)
{
	struct creator *creator = arg;

	while (!__atomic_load_n(&creator->ended, __ATOMIC_SEQ_CST))
		CHECK_IS(queue_update(&self.gpu, &self.queues[0], 100), 0);
	return NULL;
}

/* Waits until the snapshots in progress have been counted. */
static void wait_for_all(struct watcher *watchers)
{
	for (unsigned i = 0; i < WATCHERS; i++) {
		unsigned from = __atomic_load_n(&watchers[i].steps, __ATOMIC_SEQ_CST);

		while (from % 2 && __atomic_load_n(&watchers[i].steps, __ATOMIC_SEQ_CST) == from)
			sleep_ns(PAUSE_NS);
	}
}

/* Creates queues until one was NEW twice or the time is over. */
static void create_many(struct creator *creator, struct watcher *watchers)
{
	uint64_t until = clock_ns() + TRIES_MS * 1000000ull;

	while (!creator->twice && clock_ns() < until) {
		__atomic_store_n(&creator->seen, 0, __ATOMIC_SEQ_CST);
		creator->rounds++;
		CHECK_IS(queue_create(&self.gpu, &creator->queue, &creator->args), 0);
		take_snapshot(creator); /* sees the second NEW if no watcher has */
		wait_for_all(watchers);
		creator->twice = __atomic_load_n(&creator->seen, __ATOMIC_SEQ_CST) > 1;
		CHECK_IS(queue_destroy(&self.gpu, creator->queue.id), 0);
	}
}

/* Checks that CREATE_QUEUE makes a queue NEW twice. This is seen only if a snapshot between the two
 * clears the first NEW: one that waits until CREATE_QUEUE releases the process. Therefore several
 * threads take snapshots, of which one is probably waiting then. */
static RULE_CHECK(new_is_set_twice, self_debug_open(1))
{
	struct watcher watchers[WATCHERS] = {0};
	struct creator creator = {0};
	pthread_t holder;

	queue_args(&self.gpu, &creator.queue, &creator.args);
	for (unsigned i = 0; i < WATCHERS; i++) {
		watchers[i].creator = &creator;
		CHECK(!pthread_create(&watchers[i].thread, NULL, watch, &watchers[i]));
	}
	CHECK(!pthread_create(&holder, NULL, hold_up, &creator));
	create_many(&creator, watchers);
	__atomic_store_n(&creator.ended, true, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < WATCHERS; i++)
		pthread_join(watchers[i].thread, NULL);
	pthread_join(holder, NULL);
	if (!creator.twice && !harness_simulated())
		SKIP("no snapshot fell between the two");
	if (!creator.twice && creator.rounds < ROUNDS_ENOUGH)
		TOO_BUSY("the machine is too busy for a snapshot to fall between the two");
	CHECK(creator.twice);
}
