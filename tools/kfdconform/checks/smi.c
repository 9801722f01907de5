// SPDX-License-Identifier: MIT
/* SMI events (the driver's kfd_smi_events.c). */
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "common/wait.h"
#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/self_debug.h"

#define LATE_MS 2000
#define VIOLATION_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_MEMORY_VIOLATION)
#define QUIET_MS 20
#define BIT(event) (1ull << ((event)-1))
#define ALL_EVENTS (~0ull)
#define BAD_ADDRESS 0x20000u /* an address without a buffer */

static struct raw_queue queue;

static int fd; /* for the SMI events of a check */

/* Returns a file descriptor for the SMI events of the GPU, enabled by the mask (0: none). */
static int smi_open(uint64_t mask)
{
	struct kfd_ioctl_smi_events_args a = {.gpuid = gpu.gpu_id};

	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_SMI_EVENTS, &a, sizeof a), 0);
	if (mask)
		CHECK_IS(write((int)a.anon_fd, &mask, sizeof mask), sizeof mask);
	return (int)a.anon_fd;
}

/* Returns the text that arrives within so many milliseconds; "" if there is none. */
static const char *smi_read(int from, int ms)
{
	static char text[512];
	ssize_t n;

	if (poll_one_ns(from, POLLIN, wait_end_ms(ms)) <= 0)
		return "";
	n = read(from, text, sizeof text - 1);
	CHECK(n > 0);
	text[n] = '\0';
	return text;
}

static void check_silent(int from)
{
	const char *text = smi_read(from, QUIET_MS);

	if (!*text)
		return;
	fprintf(stderr, "unexpected event: %s\n", text);
	exit(1);
}

/* Checks that the next text contains exactly this line, of a format with the pid and the name, which
 * ends with the line. */
static void check_line(int from, const char *format, pid_t pid)
{
	const char *text = smi_read(from, LATE_MS), *at;
	char line[64];

	snprintf(line, sizeof line, format, (unsigned)pid, text_of("/proc/self/comm"));
	at = strstr(text, line);
	if (at && (at == text || at[-1] == '\n'))
		return;
	fprintf(stderr, "no line %s in: %s\n", line, text);
	exit(1);
}

RULE_IS(smi_unknown_gpu_is_einval, gpu_open(&gpu),
	HARNESS_CALL(gpu.kfd, KFDABI_SMI_EVENTS, struct kfd_ioctl_smi_events_args, .gpuid = 1),
	-EINVAL)

RULE_CHECK(smi_reading_nothing_is_eagain, gpu_open(&gpu))
{
	char text[64];

	fd = smi_open(0);
	CHECK_IS(read(fd, text, sizeof text), -1);
	CHECK_IS(errno, EAGAIN);
}

static void fault(void)
{
	struct kfd_hsa_memory_exception_data what;
	uint32_t event = memory_event_new(&gpu);

	queue_new(&gpu, &queue);
	queue_barrier(&queue, NULL, (struct signal *)BAD_ADDRESS);
	queue_ring(&queue);
	CHECK_IS(memory_event_wait(&gpu, event, LATE_MS, &what), 1);
}

RULE_CHECK(smi_vmfault_names_the_process, gpu_open(&gpu))
{
	fd = smi_open(BIT(KFDABI_SMI_VMFAULT));
	fault();
	check_line(fd, "1 %x:%s", getpid());
}

RULE_CHECK(smi_mask_selects, gpu_open(&gpu))
{
	uint64_t none = 0;
	int at_first, other, cleared, wanted;

	at_first = smi_open(0);
	other = smi_open(BIT(KFDABI_SMI_THERMAL_THROTTLE));
	cleared = smi_open(BIT(KFDABI_SMI_VMFAULT));
	CHECK_IS(write(cleared, &none, sizeof none), sizeof none);
	wanted = smi_open(BIT(KFDABI_SMI_VMFAULT));
	fault();
	CHECK(*smi_read(wanted, LATE_MS));
	check_silent(at_first);
	check_silent(other);
	check_silent(cleared);
}

/* ACQUIRE_VM is what counts as the start of a process. */
RULE_CHECK(smi_process_start_at_acquire_vm, gpu_open_without_vm(&gpu))
{
	fd = smi_open(BIT(KFDABI_SMI_PROCESS_START));
	check_silent(fd);
	gpu_acquire_vm(&gpu);
	check_line(fd, "c %x %s", getpid());
}

RULE_CHECK(smi_process_start_is_not_told, gpu_open_without_vm(&gpu))
{
	fd = smi_open(BIT(KFDABI_SMI_PROCESS_START) | BIT(KFDABI_SMI_PROCESS_END));
	gpu_acquire_vm(&gpu);
	check_silent(fd);
}

#define ADMIN (1ull << CAP_SYS_ADMIN)

void check_smi_process_end_at_exit(void)
{
	struct child child;

	if (!(capabilities_drop(0) & ADMIN))
		SKIP("another process's events need CAP_SYS_ADMIN");
	gpu_open(&gpu);
	fd = smi_open(BIT(KFDABI_SMI_PROCESS_END));
	device_child_start(&child);
	device_child_end(&child);
	check_line(fd, "d %x %s", child.pid);
}

/* Causes memory faults one after another until their events have `bytes` bytes in total, and
 * returns how many bytes a file descriptor that was not read has kept. A debug session receives the
 * faults, because otherwise the first one would evict the process. */
static size_t received_of(size_t bytes)
{
	static char text[16384];
	struct kfdabi_create_queue args, again;
	size_t lost = 0, n;
	int unread;
	ssize_t got;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), VIOLATION_MASK, STDOUT_FILENO, NULL), 0);
	fd = smi_open(BIT(KFDABI_SMI_VMFAULT));
	unread = smi_open(BIT(KFDABI_SMI_VMFAULT));
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

RULE_CHECK(smi_queue_changes_are_silent, self_debug_prepare())
{
	gpu = self.gpu;
	fd = smi_open(BIT(KFDABI_SMI_QUEUE_EVICTION) | BIT(KFDABI_SMI_QUEUE_RESTORE));
	self_debug_enable(0);
	queue_new(&gpu, &self.queues[0]);
	self_debug_collect();
	self_debug_suspend_one(&self.queues[0]);
	self_debug_resume_one(&self.queues[0]);
	CHECK_IS(queue_destroy(&gpu, self.queues[0].id), 0);
	check_silent(fd);
}

RULE_CHECK(smi_others_need_admin, gpu_open(&gpu))
{
	bool admin;
	struct child child;
	int before, after;

	before = smi_open(ALL_EVENTS);
	admin = capabilities_drop(ADMIN) & ADMIN;
	after = smi_open(ALL_EVENTS);
	device_child_start(&child);
	check_silent(after);
	if (admin)
		check_line(before, "c %x %s", child.pid);
	device_child_end(&child);
}
