// SPDX-License-Identifier: MIT
/* Checks of KFD events, of WAIT_EVENTS, and of SMI events (the driver's kfd_smi_events.c). */
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "tools/kfdconform/checks.h"

static struct raw_queue queue;

static uint32_t id; /* id of the event that create() has created last */

static int create(uint32_t type, bool auto_reset, uint64_t page)
{
	struct kfd_ioctl_create_event_args a = {
		.event_type = type, .auto_reset = auto_reset, .event_page_offset = page};
	int r = harness_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &a, sizeof a);

	id = a.event_id;
	return r;
}

static uint32_t event_new(bool auto_reset)
{
	CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, auto_reset, 0), 0);
	return id;
}

static int on(unsigned nr, uint32_t event) /* SET_EVENT, RESET_EVENT, DESTROY_EVENT */
{
	uint32_t a[2] = {event, 0};

	return harness_ioctl(gpu.kfd, nr, a, sizeof a);
}

static RULE_CHECK(event_ids_lowest_free_first, gpu_open(&gpu))
{
	uint32_t first, second;

	first = event_new(true);
	second = event_new(true);
	CHECK_IS(first, 1);
	CHECK_IS(second, 2);
	CHECK_IS(on(KFDABI_DESTROY_EVENT, first), 0);
	CHECK_IS(event_new(true), first);
	/* Events that the GPU cannot signal have a number range of their own. */
	CHECK_IS(create(KFD_IOC_EVENT_MEMORY, false, 0), 0);
	CHECK(id >= KFD_SIGNAL_EVENT_LIMIT);
}

static RULE_CHECK(signal_events_end_with_the_page, gpu_open(&gpu))
{
	for (uint32_t i = 1; i < 256; i++)
		CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, 0), 0);
	CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, 0), -ENOSPC);
}

static RULE_CHECK(event_page_is_set_once, gpu_open(&gpu))
{
	struct buffer page;

	gtt_new(&gpu, KFD_SIGNAL_EVENT_LIMIT * 8, &page);
	CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, page.handle), 0);
	/* The driver's value for "not signalled" */
	CHECK_IS(((uint64_t *)page.cpu)[id], UINT64_MAX);
	CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, page.handle), -EINVAL);
	for (uint32_t i = 2; i < 300; i++)
		CHECK_IS(create(KFD_IOC_EVENT_SIGNAL, true, 0), 0);
}

/* As struct kfd_event_data, with the age that KFD 1.14 has added. */
struct awaited_event {
	uint64_t age, rest[3], ext;
	uint32_t id, pad;
};
_Static_assert(sizeof(struct awaited_event) == sizeof(struct kfd_event_data), "event data");

/* Result that the last WAIT_EVENTS stored: KFD_IOC_WAIT_RESULT_COMPLETE, _TIMEOUT or _FAIL. */
static uint32_t result;

static int wait_for(struct awaited_event *events, uint32_t n, bool all, uint32_t ms)
{
	struct kfd_ioctl_wait_events_args a = {.events_ptr = (uint64_t)(uintptr_t)events,
					       .num_events = n,
					       .wait_for_all = all,
					       .timeout = ms};
	int r = harness_ioctl(gpu.kfd, KFDABI_WAIT_EVENTS, &a, sizeof a);

	result = a.wait_result;
	return r;
}

/* Checks that WAIT_EVENTS succeeds with this result. */
#define WAITS(events, n, all, ms, wanted)                                                          \
	do {                                                                                       \
		check_is(__FILE__, __LINE__, "WAIT_EVENTS", wait_for(events, n, all, ms), 0);      \
		check_is(__FILE__, __LINE__, "wait_result", result, KFD_IOC_WAIT_RESULT_##wanted); \
	} while (0)

static RULE_CHECK(unknown_event_is_einval, gpu_open(&gpu))
{
	CHECK_IS(on(KFDABI_SET_EVENT, 77), -EINVAL);
	CHECK_IS(on(KFDABI_RESET_EVENT, 77), -EINVAL);
	CHECK_IS(on(KFDABI_DESTROY_EVENT, 77), -EINVAL);
}

static RULE_CHECK(only_signal_events_can_be_set, gpu_open(&gpu))
{
	CHECK_IS(create(KFD_IOC_EVENT_MEMORY, false, 0), 0);
	CHECK_IS(on(KFDABI_SET_EVENT, id), -EINVAL);
	CHECK_IS(on(KFDABI_RESET_EVENT, id), -EINVAL);
	CHECK_IS(on(KFDABI_DESTROY_EVENT, id), 0);
}

static RULE_CHECK(auto_reset_event_wakes_once, gpu_open(&gpu))
{
	struct awaited_event event = {0};

	event.id = event_new(true);
	CHECK_IS(on(KFDABI_SET_EVENT, event.id), 0);
	WAITS(&event, 1, false, 0, COMPLETE);
	WAITS(&event, 1, false, 0, TIMEOUT);
}

static RULE_CHECK(manual_reset_event_stays_set, gpu_open(&gpu))
{
	struct awaited_event events[2] = {{0}};

	events[0].id = event_new(false);
	events[1].id = event_new(false);
	CHECK_IS(on(KFDABI_SET_EVENT, events[0].id), 0);
	WAITS(events, 1, false, 0, COMPLETE);
	WAITS(events, 1, false, 0, COMPLETE);
	CHECK_IS(on(KFDABI_RESET_EVENT, events[0].id), 0);
	WAITS(events, 1, false, 0, TIMEOUT);
	/* The event also stays set after a wait for both events, of which only one is set. */
	CHECK_IS(on(KFDABI_SET_EVENT, events[0].id), 0);
	CHECK_IS(wait_for(events, 2, true, 1), 0);
	CHECK_IS(result, KFD_IOC_WAIT_RESULT_TIMEOUT);
	WAITS(events, 1, false, 0, COMPLETE);
}

static RULE_CHECK(wait_without_time_only_asks, gpu_open(&gpu))
{
	struct awaited_event event = {0};
	uint64_t from, ms, least = UINT64_MAX;

	event.id = event_new(true);
	/* Make up to four calls, because the machine may be stopped during one of them. A driver
	 * that waits does so in every call. */
	for (int i = 0; i < 4 && least >= 300; i++) {
		from = clock_ns();
		WAITS(&event, 1, false, 0, TIMEOUT);
		ms = (clock_ns() - from) / 1000000;
		least = ms < least ? ms : least;
	}
	CHECK(least < 300);
	WAITS(&event, 0, false, 0, COMPLETE); /* a wait for no event is complete at once */
}

#define LATER_MS 10u

/* Arguments of the thread that do_later() starts. */
static struct {
	unsigned nr;
	uint32_t id;
	pthread_t waiter; /* if nr is 0: thread that gets a signal */
	pid_t waits;	  /* if not 0: wait first until this thread sleeps */
	bool over;
} plan;

static void *later(void *none)
{
	if (plan.waits)
		until_asleep(plan.waits);
	sleep_ms(LATER_MS);
	if (plan.nr)
		CHECK_IS(on(plan.nr, plan.id), 0);
	else /* repeat the signal: the first one may arrive before the wait */
		while (!__atomic_load_n(&plan.over, __ATOMIC_ACQUIRE)) {
			CHECK(!pthread_kill(plan.waiter, SIGUSR1));
			sleep_ms(2 * LATER_MS);
		}
	return none;
}

/* Starts a thread that waits for LATER_MS and then calls ioctl `nr` on the event. If `nr` is 0, the
 * thread sends signals to the caller instead. */
static pthread_t do_later(unsigned nr, uint32_t event)
{
	pthread_t thread;

	plan.nr = nr;
	plan.id = event;
	plan.over = false;
	plan.waiter = pthread_self();
	CHECK(!pthread_create(&thread, NULL, later, NULL));
	return thread;
}

static RULE_CHECK(wait_for_all_waits_for_all, gpu_open(&gpu))
{
	struct awaited_event events[2] = {{0}};
	pthread_t thread;

	events[0].id = event_new(false);
	events[1].id = event_new(true);
	CHECK_IS(on(KFDABI_SET_EVENT, events[0].id), 0);
	WAITS(events, 2, true, 5, TIMEOUT);
	thread = do_later(KFDABI_SET_EVENT, events[1].id);
	WAITS(events, 2, true, 5000, COMPLETE);
	pthread_join(thread, NULL);
	WAITS(events + 1, 1, false, 0, TIMEOUT); /* the wait for both events has reset it */
	thread = do_later(KFDABI_SET_EVENT, events[1].id);
	CHECK_IS(on(KFDABI_RESET_EVENT, events[0].id), 0);
	WAITS(events, 2, false, 5000, COMPLETE); /* waiting for any of them */
	pthread_join(thread, NULL);
}

static RULE_CHECK(wait_with_an_old_age_is_over, gpu_open(&gpu))
{
	struct awaited_event event = {.age = 1};

	event.id = event_new(true);
	WAITS(&event, 1, false, 0, TIMEOUT);
	CHECK_IS(on(KFDABI_SET_EVENT, event.id), 0);
	event.age = 0;
	WAITS(&event, 1, false, 0, COMPLETE); /* age 0: takes the event and ignores its age */
	event.age = 1;
	WAITS(&event, 1, false, 0, COMPLETE); /* the event was set after age 1 */
}

static RULE_CHECK(wait_tells_a_newer_age, gpu_open(&gpu))
{
	struct awaited_event event = {.age = 1};

	event.id = event_new(true);
	CHECK_IS(on(KFDABI_SET_EVENT, event.id), 0);
	CHECK_IS(on(KFDABI_SET_EVENT, event.id), 0);
	WAITS(&event, 1, false, 0, COMPLETE);
	CHECK_IS(event.age, 3);
	WAITS(&event, 1, false, 0, TIMEOUT);
	CHECK_IS(event.age, 3);
}

static RULE_CHECK(wait_on_an_unknown_event_is_einval, gpu_open(&gpu))
{
	struct awaited_event event = {.id = 77};

	CHECK_IS(wait_for(&event, 1, false, 0), -EINVAL);
	CHECK_IS(result, KFD_IOC_WAIT_RESULT_FAIL);
}

static RULE_CHECK(destroyed_event_fails_its_waiters, gpu_open(&gpu))
{
	struct awaited_event event = {0};
	pthread_t thread;

	event.id = event_new(true);
	plan.waits = (pid_t)syscall(SYS_gettid); /* destroy the event after the wait has begun */
	thread = do_later(KFDABI_DESTROY_EVENT, event.id);
	CHECK_IS(wait_for(&event, 1, false, 5000), -EIO);
	CHECK_IS(result, KFD_IOC_WAIT_RESULT_FAIL);
	pthread_join(thread, NULL);
}

static RULE_CHECK(interrupted_wait_gives_back, gpu_open(&gpu))
{
	struct awaited_event events[2] = {{0}};
	pthread_t thread;

	events[0].id = event_new(true);
	events[1].id = event_new(true);
	signal_handle(SIGUSR1, 0);
	CHECK_IS(on(KFDABI_SET_EVENT, events[0].id), 0);
	thread = do_later(0, 0);
	/* The wait for both events consumes the first one. When the wait is interrupted, that event
	 * is set again. */
	CHECK_IS(wait_for(events, 2, true, 5000), -EINTR);
	__atomic_store_n(&plan.over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	WAITS(events, 1, false, 2000, COMPLETE);
}

/* Checks that the memory event names this address, the GPU, and a missing page. */
static void expect_fault(const struct awaited_event *event, uint64_t va)
{
	struct kfd_hsa_memory_exception_data data;

	memcpy(&data, event, sizeof data);
	CHECK_IS(data.va, va & ~4095ull);
	CHECK_IS(data.gpu_id, gpu.gpu_id);
	CHECK(data.failure.NotPresent);
}

static RULE_CHECK(memory_event_tells_the_fault, gpu_open(&gpu))
{
	struct awaited_event event = {0};

	CHECK_IS(create(KFD_IOC_EVENT_MEMORY, false, 0), 0);
	event.id = id;
	queue_new(&gpu, &queue);
	queue_barrier(&queue, NULL, (struct signal *)BAD_ADDRESS);
	queue_ring(&queue);
	WAITS(&event, 1, false, 2000, COMPLETE);
	expect_fault(&event, BAD_ADDRESS);
}

/* Lets the GPU write to the address and returns whether that faults. */
static bool faults(uint64_t va)
{
	struct awaited_event event = {0};

	CHECK_IS(create(KFD_IOC_EVENT_MEMORY, true, 0), 0);
	event.id = id;
	queue_new(&gpu, &queue);
	queue_barrier(&queue, NULL, (struct signal *)(uintptr_t)va);
	queue_ring(&queue);
	CHECK_IS(wait_for(&event, 1, false, 2000), 0);
	if (result == KFD_IOC_WAIT_RESULT_COMPLETE)
		expect_fault(&event, va);
	return result == KFD_IOC_WAIT_RESULT_COMPLETE;
}

static RULE_CHECK(unmapped_buffer_faults, gpu_open(&gpu))
{
	struct buffer page;

	gtt_new(&gpu, 4096, &page);
	CHECK_IS(memory_unmap(&gpu, page.handle), 0);
	CHECK(faults((uint64_t)(uintptr_t)page.cpu));
}

static RULE_CHECK(buffer_is_seen_where_it_is_mapped, gpu_open(&gpu))
{
	struct gpu_file second;
	struct buffer page;

	gpu_open_too(&second, &gpu, 1);
	gtt_new(&second, 4096, &page);
	CHECK(faults((uint64_t)(uintptr_t)page.cpu));
}

/* ---- SMI events ---- */

#define LATE_MS 2000
#define QUIET_MS 20
#define BIT(event) (1ull << ((event)-1))
#define ALL_EVENTS (~0ull)

static int fd; /* file descriptor for the SMI events of a check */

/* Returns a file descriptor for the GPU's SMI events, which gets those in the mask (0: none). */
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

/* Checks that the next text contains exactly this line, made from the format with the pid and the
 * name of the process. */
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

static RULE_CHECK(smi_reading_nothing_is_eagain, gpu_open(&gpu))
{
	char text[64];

	fd = smi_open(0);
	CHECK_IS(read(fd, text, sizeof text), -1);
	CHECK_IS(errno, EAGAIN);
}

static RULE_CHECK(smi_vmfault_names_the_process, gpu_open(&gpu))
{
	fd = smi_open(BIT(KFDABI_SMI_VMFAULT));
	CHECK(faults(BAD_ADDRESS));
	check_line(fd, "1 %x:%s", getpid());
}

static RULE_CHECK(smi_mask_selects, gpu_open(&gpu))
{
	uint64_t none = 0;
	int at_first, other, cleared, wanted;

	at_first = smi_open(0);
	other = smi_open(BIT(KFDABI_SMI_THERMAL_THROTTLE));
	cleared = smi_open(BIT(KFDABI_SMI_VMFAULT));
	CHECK_IS(write(cleared, &none, sizeof none), sizeof none);
	wanted = smi_open(BIT(KFDABI_SMI_VMFAULT));
	CHECK(faults(BAD_ADDRESS));
	CHECK(*smi_read(wanted, LATE_MS));
	check_silent(at_first);
	check_silent(other);
	check_silent(cleared);
}

/* Checks that the event of a process's start is sent by ACQUIRE_VM. */
static RULE_CHECK(smi_process_start_at_acquire_vm, gpu_open_without_vm(&gpu))
{
	fd = smi_open(BIT(KFDABI_SMI_PROCESS_START));
	check_silent(fd);
	gpu_acquire_vm(&gpu);
	check_line(fd, "c %x %s", getpid());
}

static RULE_CHECK(smi_process_start_is_not_told, gpu_open_without_vm(&gpu))
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

/* Causes memory faults one after another until the texts of their SMI events have `bytes` bytes in
 * total. Returns how many of these a file descriptor that was not read has kept. A debug session
 * receives the faults, because otherwise the first one would evict the process. */
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

static RULE_CHECK(smi_queue_changes_are_silent, self_debug_prepare())
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

static RULE_CHECK(smi_others_need_admin, gpu_open(&gpu))
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
