// SPDX-License-Identifier: MIT
#include "tools/kfdconform/harness/harness.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/proc.h"
#include "common/wait.h"

#define PAGE 4096u
#define DOORBELL_PAGE 8192u
#define ASLEEP_MS 5000u

int harness_ioctl(int fd, unsigned nr, void *arg, size_t size)
{
	int r = ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, KFDABI_TYPE, nr, size), arg);

	return r < 0 ? -errno : r;
}

int harness_version(int fd)
{
	struct kfd_ioctl_get_version_args version = {0};

	return harness_ioctl(fd, KFDABI_GET_VERSION, &version, sizeof version);
}

int device_open(void)
{
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

int render_open(const struct gpu_file *gpu)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/dev/dri/renderD%u", (unsigned)gpu->shape.render_minor);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

/* Fills *gpu for the nth GPU and opens its render node. kfd: fd of /dev/kfd. */
static void find(struct gpu_file *gpu, unsigned nth, int kfd)
{
	*gpu = (struct gpu_file){.kfd = kfd};
	CHECK_IS(harness_shape(nth, &gpu->shape), 0);
	gpu->gpu_id = gpu->shape.gpu_id;
	gpu->render = render_open(gpu);
}

void gpu_open_without_vm(struct gpu_file *gpu)
{
	find(gpu, 0, device_open());
}

void gpu_acquire_vm(const struct gpu_file *gpu)
{
	CHECK_IS(HARNESS_CALL(gpu->kfd, KFDABI_ACQUIRE_VM, struct kfd_ioctl_acquire_vm_args,
			      .gpu_id = gpu->gpu_id, .drm_fd = (uint32_t)gpu->render),
		 0);
}

void gpu_open(struct gpu_file *gpu)
{
	gpu_open_without_vm(gpu);
	gpu_acquire_vm(gpu);
}

void gpu_open_too(struct gpu_file *gpu, const struct gpu_file *first, unsigned nth)
{
	find(gpu, nth, first->kfd);
	gpu_acquire_vm(gpu);
}

static int map_unmap(const struct gpu_file *gpu, uint64_t handle, unsigned nr)
{
	return HARNESS_CALL(gpu->kfd, nr, struct kfd_ioctl_map_memory_to_gpu_args, .handle = handle,
			    .device_ids_array_ptr = (uint64_t)(uintptr_t)&gpu->gpu_id,
			    .n_devices = 1);
}

int memory_map(const struct gpu_file *gpu, uint64_t handle)
{
	return map_unmap(gpu, handle, KFDABI_MAP_MEMORY_TO_GPU);
}

int memory_unmap(const struct gpu_file *gpu, uint64_t handle)
{
	return map_unmap(gpu, handle, KFDABI_UNMAP_MEMORY_FROM_GPU);
}

int memory_free(const struct gpu_file *gpu, uint64_t handle)
{
	return HARNESS_CALL(gpu->kfd, KFDABI_FREE_MEMORY_OF_GPU,
			    struct kfd_ioctl_free_memory_of_gpu_args, .handle = handle);
}

int buffer_new(const struct gpu_file *gpu, uint64_t size, uint32_t flags, struct buffer *out)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args a = {
		.size = size,
		.gpu_id = gpu->gpu_id,
		.flags = flags | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			 KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE,
	};
	void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int r;

	CHECK(at != MAP_FAILED);
	a.va_addr = (uint64_t)(uintptr_t)at;
	r = harness_ioctl(gpu->kfd, KFDABI_ALLOC_MEMORY_OF_GPU, &a, sizeof a);
	if (r) {
		munmap(at, size);
		return r;
	}
	CHECK(mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, gpu->render,
		   (off_t)a.mmap_offset) == at);
	*out = (struct buffer){.size = size, .handle = a.handle, .cpu = at};
	CHECK_IS(memory_map(gpu, a.handle), 0);
	return 0;
}

void gtt_new(const struct gpu_file *gpu, uint64_t size, struct buffer *out)
{
	CHECK_IS(buffer_new(gpu, size, KFD_IOC_ALLOC_MEM_FLAGS_GTT, out), 0);
}

void vram_new(const struct gpu_file *gpu, uint64_t size, struct buffer *out)
{
	CHECK_IS(buffer_new(gpu, size,
			    KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC, out),
		 0);
}

int buffer_free(const struct gpu_file *gpu, const struct buffer *buffer)
{
	munmap(buffer->cpu, buffer->size);
	memory_unmap(gpu, buffer->handle);
	return memory_free(gpu, buffer->handle);
}

void queue_args(const struct gpu_file *gpu, struct raw_queue *queue,
		struct kfdabi_create_queue *args)
{
	memset(queue, 0, sizeof *queue);
	queue->gpu = gpu;
	gtt_new(gpu, RING_PACKETS * 64, &queue->ring);
	for (int i = 0; i < 2; i++)
		gtt_new(gpu, PAGE, &queue->pointers[i]);
	vram_new(gpu, PAGE, &queue->eop);
	gtt_new(gpu, (gpu->shape.save_mapping + PAGE - 1) & ~(uint64_t)(PAGE - 1), &queue->save);
	for (unsigned i = 0; i < RING_PACKETS; i++)
		((uint16_t *)queue->ring.cpu)[32 * i] = 1; /* invalid packet */
	*args = (struct kfdabi_create_queue){
		.ring_base_address = (uint64_t)(uintptr_t)queue->ring.cpu,
		.write_pointer_address = (uint64_t)(uintptr_t)queue->pointers[0].cpu,
		.read_pointer_address = (uint64_t)(uintptr_t)queue->pointers[1].cpu + 128,
		.ring_size = RING_PACKETS * 64,
		.gpu_id = gpu->gpu_id,
		.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL,
		.queue_percentage = 100,
		.queue_priority = 7,
		.eop_buffer_address = (uint64_t)(uintptr_t)queue->eop.cpu,
		.eop_buffer_size = PAGE,
		.ctx_save_restore_address = (uint64_t)(uintptr_t)queue->save.cpu,
		.ctx_save_restore_size = gpu->shape.cwsr_bytes,
		.ctl_stack_size = gpu->shape.ctl_stack_bytes,
	};
}

int queue_create(const struct gpu_file *gpu, struct raw_queue *queue,
		 struct kfdabi_create_queue *args)
{
	int r = harness_ioctl(gpu->kfd, KFDABI_CREATE_QUEUE, args, sizeof *args);
	uint64_t in_page = args->doorbell_offset % DOORBELL_PAGE;
	char *page;

	if (r)
		return r;
	queue->id = args->queue_id;
	page = mmap(NULL, DOORBELL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, gpu->kfd,
		    (off_t)(args->doorbell_offset - in_page));
	CHECK(page != MAP_FAILED);
	queue->doorbell = (volatile uint64_t *)(page + in_page);
	queue->doorbell_at = in_page;
	return 0;
}

void queue_new(const struct gpu_file *gpu, struct raw_queue *queue)
{
	struct kfdabi_create_queue args;

	queue_args(gpu, queue, &args);
	CHECK_IS(queue_create(gpu, queue, &args), 0);
}

void queue_new_of_type(const struct gpu_file *gpu, struct raw_queue *queue, uint32_t type)
{
	struct kfdabi_create_queue args;

	queue_args(gpu, queue, &args);
	memset(queue->ring.cpu, 0, queue->ring.size);
	args.queue_type = type;
	CHECK_IS(queue_create(gpu, queue, &args), 0);
}

int queue_destroy(const struct gpu_file *gpu, uint32_t id)
{
	return HARNESS_CALL(gpu->kfd, KFDABI_DESTROY_QUEUE, struct kfd_ioctl_destroy_queue_args,
			    .queue_id = id);
}

struct kfd_ioctl_update_queue_args queue_unchanged(const struct raw_queue *queue)
{
	return (struct kfd_ioctl_update_queue_args){
		.ring_base_address = (uint64_t)(uintptr_t)queue->ring.cpu,
		.queue_id = queue->id,
		.ring_size = RING_PACKETS * 64,
		.queue_percentage = 100,
		.queue_priority = 7,
	};
}

int queue_update(const struct gpu_file *gpu, const struct raw_queue *queue, uint32_t percent)
{
	struct kfd_ioctl_update_queue_args a = queue_unchanged(queue);

	a.queue_percentage = percent;
	return harness_ioctl(gpu->kfd, KFDABI_UPDATE_QUEUE, &a, sizeof a);
}

volatile uint64_t *queue_rptr(const struct raw_queue *queue)
{
	return (volatile uint64_t *)((char *)queue->pointers[1].cpu + 128);
}

volatile uint64_t *queue_wptr(const struct raw_queue *queue)
{
	return queue->pointers[0].cpu;
}

void *queue_packet(struct raw_queue *queue)
{
	return (char *)queue->ring.cpu + queue->written++ % RING_PACKETS * 64;
}

/* Writes the header last, because the packet processor may read a packet with a valid header. */
void queue_publish(struct raw_queue *queue, const void *packet)
{
	uint16_t *at = queue_packet(queue);
	const uint16_t *from = packet;

	memcpy(at + 1, from + 1, 62);
	__atomic_store_n(at, *from, __ATOMIC_RELEASE);
	__atomic_store_n(queue_wptr(queue), queue->written, __ATOMIC_RELEASE);
}

void queue_barrier(struct raw_queue *queue, struct signal *dependency, struct signal *signal)
{
	uint32_t packet[16] = {3 | 1u << 8};
	uint64_t on = (uint64_t)(uintptr_t)dependency, done = (uint64_t)(uintptr_t)signal;

	memcpy(packet + 2, &on, 8);
	memcpy(packet + 14, &done, 8);
	queue_publish(queue, packet);
}

void queue_ring(struct raw_queue *queue)
{
	__atomic_store_n(queue->doorbell, queue->written - 1, __ATOMIC_RELEASE);
}

struct signal *signals_new(const struct gpu_file *gpu)
{
	struct buffer page;

	gtt_new(gpu, PAGE, &page);
	return page.cpu;
}

void sleep_ms(unsigned ms)
{
	sleep_ns(ms * 1000000ull);
}

bool comes(volatile int64_t *value, int64_t wanted, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		if (__atomic_load_n(value, __ATOMIC_ACQUIRE) == wanted)
			return true;
		sleep_ms(1);
	}
	return __atomic_load_n(value, __ATOMIC_ACQUIRE) == wanted;
}

/* Checks twice, and calls GET_VERSION after each check. If the driver (kfdsim) was stopped, the
 * first GET_VERSION returns when the driver runs again, and the second one when it has handled what
 * was due meanwhile. */
bool is_absent(const struct gpu_file *gpu, volatile int64_t *value, int64_t wanted, unsigned ms)
{
	for (int i = 0; i < 2; i++) {
		if (comes(value, wanted, ms / 2))
			return false;
		harness_version(gpu->kfd);
	}
	return __atomic_load_n(value, __ATOMIC_ACQUIRE) != wanted;
}

void *map_pages(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED);
	return pages;
}

const char *text_of(const char *path)
{
	static char text[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof text - 1);

	CHECK(n >= 0);
	close(fd);
	text[n] = '\0';
	return text;
}

const char *proc_path(pid_t pid, const char *format, ...)
{
	static char path[160];
	int n = snprintf(path, sizeof path, "/sys/class/kfd/kfd/proc/%d/", (int)pid);
	va_list args;

	va_start(args, format);
	vsnprintf(path + n, sizeof path - (size_t)n, format, args);
	va_end(args);
	return path;
}

static void nothing(int signal)
{
	(void)signal;
}

void signal_handle(int signal, int flags)
{
	struct sigaction action = {.sa_handler = nothing, .sa_flags = flags};

	CHECK(!sigaction(signal, &action, NULL));
}

uint64_t capabilities_drop(uint64_t mask)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	uint64_t held;

	CHECK(!syscall(SYS_capget, &head, data));
	held = data[0].effective | (uint64_t)data[1].effective << 32;
	data[0].effective &= ~(uint32_t)mask;
	data[1].effective &= ~(uint32_t)(mask >> 32);
	if (mask)
		CHECK(!syscall(SYS_capset, &head, data));
	return held;
}

void until_asleep(pid_t tid)
{
	struct proc_stat thread;

	for (unsigned ms = 0; proc_stat(tid, &thread) && thread.state != 'S'; ms++) {
		CHECK(ms < ASLEEP_MS);
		sleep_ms(1);
	}
}

void until_in_call(const pid_t *tid)
{
	pid_t stored;

	while (!(stored = __atomic_load_n(tid, __ATOMIC_ACQUIRE)))
		sleep_ms(1);
	until_asleep(stored);
}

uint32_t memory_event_new(const struct gpu_file *gpu)
{
	struct kfd_ioctl_create_event_args a = {.event_type = KFD_IOC_EVENT_MEMORY};

	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_CREATE_EVENT, &a, sizeof a), 0);
	return a.event_id;
}

int memory_event_wait(const struct gpu_file *gpu, uint32_t event, unsigned ms,
		      struct kfd_hsa_memory_exception_data *out)
{
	struct kfd_event_data data = {.event_id = event};
	struct kfd_ioctl_wait_events_args a = {
		.events_ptr = (uint64_t)(uintptr_t)&data, .num_events = 1, .timeout = ms};
	int r = harness_ioctl(gpu->kfd, KFDABI_WAIT_EVENTS, &a, sizeof a);

	memcpy(out, &data, sizeof *out);
	return r ? r : a.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE;
}

/* An empty list of loaded code objects, which debuggers find by r_debug. */
static const uint64_t no_code_objects[5];

int runtime_enable(const struct gpu_file *gpu, uint32_t mode)
{
	return HARNESS_CALL(gpu->kfd, KFDABI_RUNTIME_ENABLE, struct kfdabi_runtime_enable,
			    .r_debug = (uint64_t)(uintptr_t)no_code_objects, .mode_mask = mode);
}

int dbg_call(int kfd, struct kfdabi_dbg_trap *args, pid_t pid, uint32_t op)
{
	args->pid = (uint32_t)pid;
	args->op = op;
	return harness_ioctl(kfd, KFDABI_DBG_TRAP, args, sizeof *args);
}

int trap_enable(int kfd, pid_t pid, uint64_t mask, int dbg_fd, struct kfdabi_runtime_info *info)
{
	struct kfdabi_runtime_info unused;
	struct kfdabi_dbg_trap a = {
		.u.enable = {.exception_mask = mask,
			     .rinfo_ptr = (uint64_t)(uintptr_t)(info ? info : &unused),
			     .rinfo_size = sizeof *info,
			     .dbg_fd = (uint32_t)dbg_fd}};

	return dbg_call(kfd, &a, pid, KFDABI_TRAP_ENABLE);
}

int trap_disable(int kfd, pid_t pid)
{
	return DBG_CALL(kfd, pid, KFDABI_TRAP_DISABLE, 0);
}

int dbg_suspend(int kfd, pid_t pid, uint32_t *ids, uint32_t n, uint64_t mask)
{
	return DBG_CALL(kfd, pid, KFDABI_TRAP_SUSPEND_QUEUES,
			.u.suspend = {.exception_mask = mask,
				      .queue_array_ptr = (uint64_t)(uintptr_t)ids,
				      .num_queues = n,
				      .grace_period = KFDABI_GRACE_DEFAULT});
}

int dbg_resume(int kfd, pid_t pid, uint32_t *ids, uint32_t n)
{
	return DBG_CALL(kfd, pid, KFDABI_TRAP_RESUME_QUEUES,
			.u.resume = {.queue_array_ptr = (uint64_t)(uintptr_t)ids, .num_queues = n});
}

int trap_snapshot(int kfd, pid_t pid, uint64_t mask, struct kfdabi_queue_snapshot *entries,
		  uint32_t *n)
{
	struct kfdabi_dbg_trap a = {
		.u.queue_snapshot = {.exception_mask = mask,
				     .snapshot_buf_ptr = (uint64_t)(uintptr_t)entries,
				     .num_queues = *n,
				     .entry_size = sizeof *entries}};
	int r = dbg_call(kfd, &a, pid, KFDABI_TRAP_GET_QUEUE_SNAPSHOT);

	*n = a.u.queue_snapshot.num_queues;
	return r;
}

int trap_count(int kfd, pid_t pid)
{
	uint32_t n = 0;
	int r = trap_snapshot(kfd, pid, 0, NULL, &n);

	return r ? r : (int)n;
}

int trap_send(int kfd, pid_t pid, uint64_t mask, uint32_t gpu_id)
{
	return DBG_CALL(kfd, pid, KFDABI_TRAP_SEND_RUNTIME_EVENT,
			.u.send_runtime_event = {.exception_mask = mask, .gpu_id = gpu_id});
}

void child_begin(struct child *child, void (*body)(int from, int to))
{
	int to[2], from[2];

	CHECK(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	child->pid = fork();
	CHECK(child->pid >= 0);
	if (!child->pid) {
		close(to[1]);
		close(from[0]);
		body(to[0], from[1]);
		_exit(0); /* the leak checker at exit does not work in a traced process */
	}
	close(to[0]);
	close(from[1]);
	child->to = to[1];
	child->from = from[0];
}

void notify(int fd)
{
	CHECK_IS(write(fd, ".", 1), 1);
}

void hear(int fd)
{
	char byte;

	CHECK_IS(read(fd, &byte, 1), 1);
}

bool readable_within(int fd, unsigned ms)
{
	int ready = poll_one_ns(fd, POLLIN, wait_end_ms((int)ms));

	return ready > 0 && ready & POLLIN;
}

bool hears(int fd, unsigned ms)
{
	if (!readable_within(fd, ms))
		return false;
	hear(fd);
	return true;
}

/* Continues a traced child that stops at a signal before it exits. */
int child_end(struct child *child)
{
	int status;

	close(child->to);
	for (;;) {
		CHECK_IS(waitpid(child->pid, &status, 0), child->pid);
		if (!WIFSTOPPED(status))
			return status;
		ptrace(PTRACE_CONT, child->pid, 0, 0);
	}
}

int run_in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		body();
		_exit(0);
	}
	CHECK_IS(waitpid(pid, &status, 0), pid);
	return status;
}

static void opens_device(int from, int to)
{
	struct gpu_file gpu;

	gpu_open(&gpu);
	notify(to);
	hear(from);
}

void device_child_start(struct child *child)
{
	child_begin(child, opens_device);
	hear(child->from);
}

void device_child_end(struct child *child)
{
	notify(child->to);
	CHECK_IS(child_end(child), 0);
}

void seize(pid_t pid)
{
	CHECK_IS(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
}
