// SPDX-License-Identifier: MIT
/* Checks of the files of kfd/proc in sysfs (the driver's kfd_process.c), and the topology
 * (kfd_topology.c). */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"

#define BUSY_DISPATCHES 32 /* of 200 ms each */
/* Longest wait for a change that the driver makes after the call has returned, or that kfdsim shows
 * only at intervals. */
#define LATE_MS 1000u
#define CAP_DEBUG (1u << 15) /* HSA_CAP_TRAP_DEBUG_SUPPORT */

static struct raw_queue queue;

/* True if this file of a process exists in kfd/proc. */
#define proc_has(...) (!access(proc_path(__VA_ARGS__), F_OK))
#define proc_text(...) text_of(proc_path(__VA_ARGS__))

static void check_text(const char *is, const char *wanted)
{
	if (!strcmp(is, wanted))
		return;
	fprintf(stderr, "the text is '%s', not '%s'\n", is, wanted);
	exit(1);
}

/* Checks that the text is this number followed by `end`. */
static void check_number(const char *is, uint64_t wanted, const char *end)
{
	char text[32];

	snprintf(text, sizeof text, "%llu%s", (unsigned long long)wanted, end);
	check_text(is, text);
}

static unsigned queues_listed(pid_t pid)
{
	DIR *dir = opendir(proc_path(pid, "queues"));
	struct dirent *entry;
	unsigned n = 0;

	CHECK(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

void check_proc_folder_comes_and_goes(void)
{
	struct child child;

	device_child_start(&child);
	CHECK(proc_has(child.pid, "queues"));
	kill(child.pid, SIGKILL);
	child_end(&child);
	CHECK(WITHIN(LATE_MS, !proc_has(child.pid, ".")));
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	CHECK(!stat(path, &st));
	return st.st_mode & 07777;
}
#define proc_mode(...) mode_of(proc_path(getpid(), __VA_ARGS__))

static RULE_CHECK(proc_files_are_read_only, gpu_open(&gpu))
{
	queue_new(&gpu, &queue);
	CHECK_IS(proc_mode("pasid"), 0444);
	CHECK_IS(proc_mode("vram_%u", gpu.gpu_id), 0444);
	CHECK_IS(proc_mode("sdma_%u", gpu.gpu_id), 0444);
	CHECK_IS(proc_mode("stats_%u/evicted_ms", gpu.gpu_id), 0444);
	CHECK_IS(proc_mode("counters_%u/faults", gpu.gpu_id), 0444);
	CHECK_IS(proc_mode("queues/%u/size", queue.id), 0444);
}

static RULE_CHECK(proc_queue_is_listed, gpu_open(&gpu))
{
	struct raw_queue queues[2];

	CHECK_IS(queues_listed(getpid()), 0);
	queue_new(&gpu, &queues[0]);
	queue_new(&gpu, &queues[1]);
	CHECK_IS(queues_listed(getpid()), 2);
	CHECK(proc_has(getpid(), "queues/%u", queues[0].id));
	CHECK_IS(queue_destroy(&gpu, queues[0].id), 0);
	CHECK_IS(queues_listed(getpid()), 1);
	CHECK(!proc_has(getpid(), "queues/%u", queues[0].id));
	CHECK(proc_has(getpid(), "queues/%u", queues[1].id));
}

static RULE_CHECK(proc_queue_files_have_no_newline, gpu_open(&gpu))
{
	queue_new(&gpu, &queue);
	check_number(proc_text(getpid(), "queues/%u/gpuid", queue.id), gpu.gpu_id, "");
	check_number(proc_text(getpid(), "queues/%u/size", queue.id), RING_PACKETS * 64, "");
	check_number(proc_text(getpid(), "queues/%u/type", queue.id), 0, "");
}

static RULE_CHECK(proc_queue_size_follows_update, gpu_open(&gpu))
{
	struct kfd_ioctl_update_queue_args a;
	struct buffer ring;

	queue_new(&gpu, &queue);
	gtt_new(&gpu, 8 * RING_PACKETS * 64, &ring);
	a = queue_unchanged(&queue);
	a.ring_base_address = (uint64_t)(uintptr_t)ring.cpu;
	a.ring_size = 8 * RING_PACKETS * 64;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_UPDATE_QUEUE, &a, sizeof a), 0);
	check_number(proc_text(getpid(), "queues/%u/size", queue.id), a.ring_size, "");
}

/* Creates a queue of this type and returns the type that sysfs shows for it. */
static unsigned long type_of_new(uint32_t type)
{
	queue_new_of_type(&gpu, &queue, type);
	return strtoul(proc_text(getpid(), "queues/%u/type", queue.id), NULL, 10);
}

static void open_with_xgmi(void)
{
	gpu_open(&gpu);
	if (!harness_property(gpu.shape.node, "num_sdma_xgmi_engines"))
		SKIP("the GPU has no XGMI engines");
}

RULE_IS(proc_sdma_queue_is_type_1, gpu_open(&gpu), type_of_new(KFD_IOC_QUEUE_TYPE_SDMA), 1)
RULE_IS(proc_xgmi_queue_is_type_4, open_with_xgmi(), type_of_new(KFD_IOC_QUEUE_TYPE_SDMA_XGMI), 4)
RULE_IS(proc_xgmi_queue_is_type_3, open_with_xgmi(), type_of_new(KFD_IOC_QUEUE_TYPE_SDMA_XGMI), 3)

static RULE_CHECK(proc_id_used_again_tells_the_new_queue, gpu_open(&gpu))
{
	struct raw_queue first, second;

	queue_new(&gpu, &first);
	CHECK_IS(queue_destroy(&gpu, first.id), 0);
	queue_new_of_type(&gpu, &second, KFD_IOC_QUEUE_TYPE_SDMA);
	CHECK_IS(second.id, first.id);
	check_text(proc_text(getpid(), "queues/%u/type", second.id), "1");
}

#define proc_number(...) strtoull(proc_text(getpid(), __VA_ARGS__), NULL, 10)

static RULE_CHECK(proc_vram_counts_vram, gpu_open(&gpu))
{
	struct buffer vram, gtt;
	uint64_t before = proc_number("vram_%u", gpu.gpu_id);

	gtt_new(&gpu, 1 << 20, &gtt);
	CHECK_IS(proc_number("vram_%u", gpu.gpu_id), before);
	vram_new(&gpu, 3 << 20, &vram);
	check_number(proc_text(getpid(), "vram_%u", gpu.gpu_id), before + (3 << 20), "\n");
	CHECK_IS(buffer_free(&gpu, &vram), 0);
	check_number(proc_text(getpid(), "vram_%u", gpu.gpu_id), before, "\n");
}

static RULE_CHECK(proc_pasid_is_the_processs, gpu_open(&gpu))
{
	char own[64];
	struct child child;

	snprintf(own, sizeof own, "%s", proc_text(getpid(), "pasid"));
	CHECK(strtoul(own, NULL, 10) > 0);
	device_child_start(&child);
	CHECK(strtoul(proc_text(child.pid, "pasid"), NULL, 10) > 0);
	CHECK(strcmp(proc_text(child.pid, "pasid"), own));
	device_child_end(&child);
}

RULE_IS(proc_pasid_is_0, gpu_open(&gpu), strcmp(proc_text(getpid(), "pasid"), "0\n"), 0)

/* Opens a debug session of the process on itself, and submits long work to a queue. */
static void busy_start(void)
{
	struct signal *done;

	self_debug_open(1);
	done = signals_new(&self.gpu);
	done->value = BUSY_DISPATCHES;
	for (int i = 0; i < BUSY_DISPATCHES; i++)
		queue_work(&self.queues[0], 200, done);
	queue_ring(&self.queues[0]);
}

static uint64_t occupancy(void)
{
	return proc_number("stats_%u/cu_occupancy", self.gpu.gpu_id);
}

static RULE_CHECK(proc_cu_occupancy_tells_running_waves, busy_start())
{
	CHECK(WITHIN(LATE_MS, occupancy()));
	CHECK(occupancy() <= self.gpu.shape.cus);
}

static RULE_CHECK(proc_cu_occupancy_of_suspended_is_0, busy_start())
{
	CHECK(WITHIN(LATE_MS, occupancy()));
	self_debug_suspend_one(&self.queues[0]);
	CHECK(WITHIN(LATE_MS, !occupancy()));
	self_debug_resume_one(&self.queues[0]);
	CHECK(WITHIN(LATE_MS, occupancy()));
}

static RULE_CHECK(proc_suspended_queue_stays_listed, busy_start())
{
	self_debug_suspend_one(&self.queues[0]);
	sleep_ms(20);
	CHECK(proc_has(getpid(), "queues/%u/type", self.queues[0].id));
	check_text(proc_text(getpid(), "queues/%u/type", self.queues[0].id), "0");
}

static RULE_CHECK(proc_vram_of_suspended_stays, busy_start())
{
	struct buffer vram;
	uint64_t before;

	vram_new(&self.gpu, 3 << 20, &vram);
	before = proc_number("vram_%u", self.gpu.gpu_id);
	CHECK(before >= 3 << 20);
	self_debug_suspend_one(&self.queues[0]);
	sleep_ms(20);
	CHECK_IS(proc_number("vram_%u", self.gpu.gpu_id), before);
}

static RULE_CHECK(proc_evicted_ms_excludes_suspension, busy_start())
{
	self_debug_suspend_one(&self.queues[0]);
	sleep_ms(20);
	self_debug_resume_one(&self.queues[0]);
	check_text(proc_text(getpid(), "stats_%u/evicted_ms", self.gpu.gpu_id), "0\n");
}

/* ---- topology ---- */

void check_topology_cpu_has_no_gpu_id(void)
{
	uint64_t id;
	unsigned node = 0;

	for (; !harness_node_number(node, "gpu_id", NULL, &id); node++)
		CHECK((harness_property(node, "simd_count") != 0) == (id != 0));
	CHECK(node > 0);
}

void check_topology_gpu_names_its_render_node(void)
{
	struct gpu_shape shape;
	char path[64];

	for (unsigned nth = 0; !harness_shape(nth, &shape); nth++) {
		snprintf(path, sizeof path, "/dev/dri/renderD%u", shape.render_minor);
		CHECK(!access(path, F_OK));
	}
}

void check_topology_gpu_can_be_debugged(void)
{
	struct gpu_shape shape;

	for (unsigned nth = 0; !harness_shape(nth, &shape); nth++)
		CHECK(harness_property(shape.node, "capability") & CAP_DEBUG);
}
