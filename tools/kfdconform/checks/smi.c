// SPDX-License-Identifier: MIT
/* SMI events (the driver's kfd_smi_events.c). */
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/wait.h"
#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/harness.h"

#define LATE_MS 2000
#define VIOLATION_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_MEMORY_VIOLATION)
#define QUIET_MS 20
#define BIT(event) (1ull << ((event)-1))
#define ALL_EVENTS (~0ull)
#define BAD_ADDRESS 0x20000u /* an address without a buffer */

/* Returns a file descriptor for the SMI events of a GPU, enabled by the mask (0: none). */
static int smi_open(int kfd, uint32_t gpu_id, uint64_t mask)
{
	struct kfd_ioctl_smi_events_args a = {.gpuid = gpu_id};

	CHECK_IS(harness_ioctl(kfd, KFDABI_SMI_EVENTS, &a, sizeof a), 0);
	if (mask)
		CHECK_IS(write((int)a.anon_fd, &mask, sizeof mask), sizeof mask);
	return (int)a.anon_fd;
}

/* Returns the text that arrives within so many milliseconds; "" if there is none. */
static const char *smi_read(int fd, int ms)
{
	static char text[512];
	ssize_t n;

	if (poll_one_ns(fd, POLLIN, wait_end_ms(ms)) <= 0)
		return "";
	n = read(fd, text, sizeof text - 1);
	CHECK(n > 0);
	text[n] = '\0';
	return text;
}

static void check_silent(int fd)
{
	const char *text = smi_read(fd, QUIET_MS);

	if (!*text)
		return;
	fprintf(stderr, "unexpected event: %s\n", text);
	exit(1);
}

/* Checks that the text contains exactly this line. */
static void check_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (at && (at == text || at[-1] == '\n'))
		return;
	fprintf(stderr, "no line %s in: %s\n", line, text);
	exit(1);
}

static const char *own_name(void)
{
	static char name[32];
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, name, sizeof name - 1);

	CHECK(n > 0);
	name[n - 1] = '\0';
	return name;
}

void check_smi_unknown_gpu_is_einval(void)
{
	struct kfd_ioctl_smi_events_args a = {.gpuid = 1};
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_SMI_EVENTS, &a, sizeof a), -EINVAL);
}

void check_smi_reading_nothing_is_eagain(void)
{
	struct gpu_file gpu;
	char text[64];
	int fd;

	gpu_open(&gpu);
	fd = smi_open(gpu.kfd, gpu.gpu_id, 0);
	CHECK_IS(read(fd, text, sizeof text), -1);
	CHECK_IS(errno, EAGAIN);
}

static void fault(const struct gpu_file *gpu)
{
	struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_MEMORY};
	struct kfd_ioctl_wait_events_args wait = {.num_events = 1, .timeout = 2000};
	struct kfd_event_data data = {0};
	struct raw_queue queue;

	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_CREATE_EVENT, &event, sizeof event), 0);
	queue_new(gpu, &queue);
	queue_barrier(&queue, NULL, (struct signal *)BAD_ADDRESS);
	queue_ring(&queue);
	data.event_id = event.event_id;
	wait.events_ptr = (uint64_t)(uintptr_t)&data;
	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_WAIT_EVENTS, &wait, sizeof wait), 0);
	CHECK_IS(wait.wait_result, KFD_IOC_WAIT_RESULT_COMPLETE);
}

void check_smi_vmfault_names_the_process(void)
{
	struct gpu_file gpu;
	char line[64];
	int fd;

	gpu_open(&gpu);
	fd = smi_open(gpu.kfd, gpu.gpu_id, BIT(KFDABI_SMI_VMFAULT));
	fault(&gpu);
	snprintf(line, sizeof line, "1 %x:%s\n", (unsigned)getpid(), own_name());
	check_line(smi_read(fd, LATE_MS), line);
}

void check_smi_mask_selects(void)
{
	uint64_t none = 0;
	struct gpu_file gpu;
	int at_first, other, cleared, wanted;

	gpu_open(&gpu);
	at_first = smi_open(gpu.kfd, gpu.gpu_id, 0);
	other = smi_open(gpu.kfd, gpu.gpu_id, BIT(KFDABI_SMI_THERMAL_THROTTLE));
	cleared = smi_open(gpu.kfd, gpu.gpu_id, BIT(KFDABI_SMI_VMFAULT));
	CHECK_IS(write(cleared, &none, sizeof none), sizeof none);
	wanted = smi_open(gpu.kfd, gpu.gpu_id, BIT(KFDABI_SMI_VMFAULT));
	fault(&gpu);
	CHECK(*smi_read(wanted, LATE_MS));
	check_silent(at_first);
	check_silent(other);
	check_silent(cleared);
}

/* Opens the device without acquiring its VM, because ACQUIRE_VM is what counts as the
 * start of a process. */
static void open_only(struct gpu_file *gpu)
{
	char path[64];

	memset(gpu, 0, sizeof *gpu);
	CHECK_IS(harness_shape(0, &gpu->shape), 0);
	gpu->gpu_id = gpu->shape.gpu_id;
	gpu->kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof path, "/dev/dri/renderD%u", gpu->shape.render_minor);
	gpu->render = open(path, O_RDWR | O_CLOEXEC);
	CHECK(gpu->kfd >= 0 && gpu->render >= 0);
}

static void acquire_vm(const struct gpu_file *gpu)
{
	struct kfd_ioctl_acquire_vm_args vm = {.gpu_id = gpu->gpu_id,
					       .drm_fd = (uint32_t)gpu->render};

	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_ACQUIRE_VM, &vm, sizeof vm), 0);
}

void check_smi_process_start_at_acquire_vm(void)
{
	struct gpu_file gpu;
	char line[64];
	int fd;

	open_only(&gpu);
	fd = smi_open(gpu.kfd, gpu.gpu_id, BIT(KFDABI_SMI_PROCESS_START));
	check_silent(fd);
	acquire_vm(&gpu);
	snprintf(line, sizeof line, "c %x %s\n", (unsigned)getpid(), own_name());
	check_line(smi_read(fd, LATE_MS), line);
}

void check_smi_process_start_is_not_told(void)
{
	struct gpu_file gpu;
	int fd;

	open_only(&gpu);
	fd = smi_open(gpu.kfd, gpu.gpu_id,
		      BIT(KFDABI_SMI_PROCESS_START) | BIT(KFDABI_SMI_PROCESS_END));
	acquire_vm(&gpu);
	check_silent(fd);
}

/* Returns whether the process has CAP_SYS_ADMIN. */
static bool have_admin(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	CHECK(!syscall(SYS_capget, &head, data));
	return data[0].effective >> CAP_SYS_ADMIN & 1;
}

static void opens_and_ends(int from, int to)
{
	struct gpu_file gpu;

	(void)from;
	(void)to;
	gpu_open(&gpu);
}

void check_smi_process_end_at_exit(void)
{
	struct gpu_file gpu;
	struct child child;
	char line[64];
	int fd;

	if (!have_admin())
		SKIP("another process's events need CAP_SYS_ADMIN");
	gpu_open(&gpu);
	fd = smi_open(gpu.kfd, gpu.gpu_id, BIT(KFDABI_SMI_PROCESS_END));
	child_start(&child, opens_and_ends);
	CHECK_IS(child_end(&child), 0);
	snprintf(line, sizeof line, "d %x %s\n", (unsigned)child.pid, own_name());
	check_line(smi_read(fd, LATE_MS), line);
}

/* Causes memory faults one after another until their events have `bytes` bytes in total, and
 * returns how many bytes a file descriptor that was not read has kept. A debug session receives the
 * faults, because otherwise the first one would evict the process. */
static size_t received_of(size_t bytes)
{
	static char text[16384];
	struct kfdabi_create_queue args, again;
	struct kfdabi_runtime_info info;
	struct raw_queue queue;
	size_t lost = 0, n;
	struct gpu_file gpu;
	int fd, unread;
	ssize_t got;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), VIOLATION_MASK, STDOUT_FILENO, &info), 0);
	fd = smi_open(gpu.kfd, gpu.gpu_id, BIT(KFDABI_SMI_VMFAULT));
	unread = smi_open(gpu.kfd, gpu.gpu_id, BIT(KFDABI_SMI_VMFAULT));
	queue_args(&gpu, &queue, &args);
	while (lost < bytes) {
		again = args;
		*queue_rptr(&queue) = *queue_wptr(&queue) = queue.written = 0;
		CHECK_IS(queue_create(&gpu, &queue, &again), 0);
		queue_barrier(&queue, NULL, (struct signal *)BAD_ADDRESS);
		queue_ring(&queue);
		n = strlen(smi_read(fd, LATE_MS));
		CHECK(n > 0);
		lost += n;
		CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	}
	for (n = 0; (got = read(unread, text + n, sizeof text - n)) > 0; n += (size_t)got)
		;
	CHECK(n > 0 && text[n - 1] == '\n');
	return n;
}

void check_smi_buffer_holds_1024_bytes(void)
{
	size_t n_valid = received_of(1024 + 100);

	CHECK(n_valid <= 1024 && n_valid > 1024 - 64);
}

void check_smi_buffer_holds_more_than_1024_bytes(void)
{
	CHECK(received_of(1024 + 100) > 1024);
}

void check_smi_queue_changes_are_silent(void)
{
	struct kfdabi_queue_snapshot entry;
	struct kfdabi_runtime_info info;
	struct raw_queue queue;
	struct gpu_file gpu;
	int fd, events[2];
	uint32_t n = 1;

	gpu_open(&gpu);
	fd = smi_open(gpu.kfd, gpu.gpu_id,
		      BIT(KFDABI_SMI_QUEUE_EVICTION) | BIT(KFDABI_SMI_QUEUE_RESTORE));
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	CHECK(!pipe2(events, O_CLOEXEC | O_NONBLOCK));
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, events[1], &info), 0);
	queue_new(&gpu, &queue);
	CHECK_IS(trap_snapshot(gpu.kfd, getpid(), NEW_MASK, &entry, &n), 0);
	n = queue.id;
	CHECK_IS(dbg_suspend(gpu.kfd, getpid(), &n, 1, NEW_MASK), 1);
	n = queue.id;
	CHECK_IS(dbg_resume(gpu.kfd, getpid(), &n, 1), 1);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	check_silent(fd);
}

static void drop_admin(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	CHECK(!syscall(SYS_capget, &head, data));
	data[0].effective &= ~(1u << CAP_SYS_ADMIN);
	CHECK(!syscall(SYS_capset, &head, data));
}

static void starts(int from, int to)
{
	struct gpu_file gpu;

	gpu_open(&gpu);
	notify(to);
	hear(from);
}

void check_smi_others_need_admin(void)
{
	bool admin = have_admin();
	struct gpu_file gpu;
	struct child child;
	int before, after;
	char line[64];

	gpu_open(&gpu);
	before = smi_open(gpu.kfd, gpu.gpu_id, ALL_EVENTS);
	if (admin)
		drop_admin();
	after = smi_open(gpu.kfd, gpu.gpu_id, ALL_EVENTS);
	child_start(&child, starts);
	hear(child.from);
	check_silent(after);
	if (admin) {
		snprintf(line, sizeof line, "c %x %s\n", (unsigned)child.pid, own_name());
		check_line(smi_read(before, LATE_MS), line);
	}
	notify(child.to);
	CHECK_IS(child_end(&child), 0);
}
