// SPDX-License-Identifier: MIT
#include "tests/lib/mock_kfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kfd/uapi.h"
#include "shim/activity.h"
#include "tests/lib/mock_debug.h"
#include "tests/lib/shim_stub_daemon.h"

#define PAGE 4096u
#define RPTR_AT 128u
#define WPTR_AT 56u

struct fake_kfd fake;

kfdshim_agent_start_fn kfdshim_agent_start;

static int refuse(int err)
{
	errno = err;
	return err ? -1 : 0;
}

static int create(struct kfdabi_create_queue *args)
{
	uint32_t id = 0;

	if (fake.create_errno)
		return refuse(fake.create_errno);
	while (fake.ids[id])
		id++;
	fake.ids[id] = 1;
	args->queue_id = id;
	fake.percents[id] = (uint8_t)args->queue_percentage;
	fake_trap_created(id, args->queue_type);
	return 0;
}

static int update(const struct kfd_ioctl_update_queue_args *args)
{
	fake.updates++;
	if (fake.update_errno)
		return refuse(fake.update_errno);
	fake.priorities[args->queue_id] = (uint8_t)args->queue_priority;
	fake.percents[args->queue_id] = (uint8_t)args->queue_percentage;
	return 0;
}

static int destroy(const struct kfd_ioctl_destroy_queue_args *args)
{
	if (fake.on_destroy)
		fake.on_destroy();
	if (fake.destroy_errno)
		return refuse(fake.destroy_errno);
	if (!fake.ids[args->queue_id])
		return refuse(EINVAL);
	fake.ids[args->queue_id] = 0;
	fake_trap_destroyed(args->queue_id);
	return 0;
}

static uint32_t handles;

/* The upper half of a handle is the gpu_id, as in the driver's handles. */
static uint64_t next_handle(void)
{
	return (uint64_t)FAKE_GPU << 32 | __atomic_fetch_add(&handles, 1, __ATOMIC_RELAXED);
}

void fake_handles_begin(uint32_t index)
{
	__atomic_store_n(&handles, index, __ATOMIC_RELAXED);
}

/* Appends a letter to fake.calls. Atomic, because the agent's own thread issues calls, too. */
static void note(char letter)
{
	char none;

	for (size_t i = 0; i < sizeof(fake.calls) - 1; i++) {
		none = '\0';
		if (__atomic_compare_exchange_n(&fake.calls[i], &none, letter, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return;
	}
}

static int memory(char letter, int error)
{
	note(letter);
	if (fake.on_memory)
		fake.on_memory();
	return refuse(error);
}

static int driver_ioctl(int fd, unsigned long request, void *arg)
{
	struct kfd_ioctl_get_version_args *version = arg;
	struct kfdabi_runtime_enable *enable = arg;

	(void)fd;
	switch (_IOC_NR((unsigned)request)) {
	case KFDABI_GET_VERSION:
		note('V');
		version->major_version = 1;
		version->minor_version = fake.kfd_minor;
		return 0;
	case KFDABI_RUNTIME_ENABLE:
		note(enable->mode_mask & 1 ? 'E' : 'O');
		fake.r_debug = enable->r_debug;
		if (fake.on_runtime)
			fake.on_runtime();
		if (!fake.enable_errno)
			fake_trap_runtime(enable->mode_mask & 1);
		return refuse(fake.enable_errno);
	case KFDABI_CREATE_QUEUE:
		note('C');
		return create(arg);
	case KFDABI_DESTROY_QUEUE:
		note('D');
		return destroy(arg);
	case KFDABI_ALLOC_MEMORY_OF_GPU:
		((struct kfd_ioctl_alloc_memory_of_gpu_args *)arg)->handle = next_handle();
		return memory('A', fake.alloc_errno);
	case KFDABI_FREE_MEMORY_OF_GPU:
		return memory('F', fake.free_errno);
	case KFDABI_MAP_MEMORY_TO_GPU:
	case KFDABI_UNMAP_MEMORY_FROM_GPU:
	case KFDABI_IMPORT_DMABUF:
		return memory('?', fake.other_errno);
	case KFDABI_DBG_TRAP:
		note('T');
		return fake_trap_ioctl(arg);
	case KFDABI_UPDATE_QUEUE:
		note('U');
		fake.update_end = ((const uint8_t *)arg)[_IOC_SIZE((unsigned)request) - 1];
		return update(arg);
	default:
		note('?');
		if (_IOC_TYPE((unsigned)request) == 'd' && *(uint32_t *)arg == 1 &&
		    !fake.other_errno)
			*(uint32_t *)arg = fake.userq_id;
		return refuse(fake.other_errno);
	}
}

void fake_start(void)
{
	static struct kfdshim_preload_iface host;
	int fd;

	memset(&fake, 0, sizeof(fake));
	fake.kfd_minor = 17;
	fake.fd = FAKE_FD;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && dup3(fd, FAKE_FD, O_CLOEXEC) == FAKE_FD);
	close(fd);
	fake.app_settings.priority = fake.app_settings.slo_us = KFDSHIM_UNASKED;
	host = (struct kfdshim_preload_iface){.abi = KFDSHIM_AGENT_ABI,
					      .ioctl = driver_ioctl,
					      .active_doorbells = fake.active_doorbells,
					      .n_intercept_queues = &fake.n_intercept_queues,
					      .active = &fake.active,
					      .gate = &fake.gate,
					      .app_settings = &fake.app_settings};
	fake.agent = kfdshim_agent_start(&host);
	CHECK(fake.agent != NULL);
}

void fake_queue_memory(struct fake_queue *q, uint32_t type, struct kfdabi_create_queue *args)
{
	char *memory =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	memset(q, 0, sizeof(*q));
	q->memory = memory;
	q->type = type;
	q->hsa_queue = (uint64_t)(uintptr_t)memory;
	q->wptr = (volatile uint64_t *)(memory + WPTR_AT);
	q->rptr = (volatile uint64_t *)(memory + RPTR_AT);
	q->doorbell = aligned_alloc(64, sizeof(*q->doorbell));
	CHECK(q->doorbell != NULL);
	*q->doorbell = (struct fake_signal){.kind = -1, .queue_ptr = q->hsa_queue};
	if (type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) {
		*(uint64_t *)(memory + 8) = (uint64_t)(uintptr_t)(memory + PAGE);
		*(uint32_t *)(memory + 24) = FAKE_PACKETS;
	}
	memset(args, 0, sizeof(*args));
	args->ring_base_address = (uint64_t)(uintptr_t)(memory + PAGE);
	args->ring_size = PAGE;
	args->write_pointer_address = (uint64_t)(uintptr_t)q->wptr;
	args->read_pointer_address = (uint64_t)(uintptr_t)q->rptr;
	args->gpu_id = fake.other_gpu ? (uint32_t)fake.other_gpu : FAKE_GPU;
	args->queue_type = type;
	args->queue_percentage = 100;
	args->queue_priority = 7;
	args->ctx_save_restore_address = 0x123000;
	args->ctx_save_restore_size = 0x2000;
}

int fake_ioctl(int fd, unsigned long request, void *arg)
{
	unsigned nr = _IOC_NR((unsigned)request);

	if (_IOC_TYPE((unsigned)request) == KFDABI_TYPE &&
	    (nr >= 64 || !(KFDSHIM_IOCTLS >> nr & 1)))
		return driver_ioctl(fd, request, arg);
	return fake.agent->ioctl(fd, request, arg);
}

int fake_queue_create(struct fake_queue *q, uint32_t type)
{
	unsigned long request =
		_IOC(_IOC_READ | _IOC_WRITE, 'K', KFDABI_CREATE_QUEUE,
		     fake.args_bytes ? fake.args_bytes : sizeof(struct kfdabi_create_queue));
	struct kfdabi_create_queue args;
	int result;

	fake_queue_memory(q, type, &args);
	result = fake_ioctl(fake.fd, request, &args);
	q->id = args.queue_id;
	return result;
}

int fake_queue_destroy(struct fake_queue *q)
{
	struct kfd_ioctl_destroy_queue_args args = {.queue_id = q->id};

	return fake_ioctl(fake.fd, AMDKFD_IOC_DESTROY_QUEUE, &args);
}

int fake_queue_update(struct fake_queue *q, uint32_t priority, uint32_t percent)
{
	struct kfd_ioctl_update_queue_args args = {
		.ring_base_address = (uint64_t)(uintptr_t)q->memory + PAGE,
		.queue_id = q->id,
		.ring_size = PAGE,
		.queue_percentage = percent,
		.queue_priority = priority,
	};

	return fake_ioctl(fake.fd, AMDKFD_IOC_UPDATE_QUEUE, &args);
}

void fake_queue_unmap(struct fake_queue *q)
{
	munmap(q->memory, 2 * PAGE);
}

int fake_alloc(uint32_t gpu_id, uint64_t bytes, uint32_t flags, uint64_t *handle)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.size = bytes, .gpu_id = gpu_id, .flags = flags};
	int result = fake_ioctl(fake.fd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args);

	*handle = args.handle;
	return result;
}

int fake_free(uint64_t handle)
{
	struct kfd_ioctl_free_memory_of_gpu_args args = {.handle = handle};

	return fake_ioctl(fake.fd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &args);
}

int fake_runtime(uint32_t mode)
{
	struct kfdabi_runtime_enable args = {.mode_mask = mode};

	return fake_ioctl(fake.fd, KFDABI_IOC_RUNTIME_ENABLE, &args);
}

void fake_submit(struct fake_queue *q, struct fake_signal *completion)
{
	uint64_t *packet = (uint64_t *)((char *)q->memory + PAGE + (*q->wptr % FAKE_PACKETS) * 64);

	memset(packet, 0, 64);
	*(uint16_t *)packet = 2; /* the packet type: a kernel dispatch */
	if (completion)
		completion->value = 1;
	__atomic_store_n(&packet[7], (uint64_t)(uintptr_t)completion, __ATOMIC_RELAXED);
	__atomic_add_fetch(q->wptr, 1, __ATOMIC_SEQ_CST);
}

bool fake_ring(struct fake_queue *q, struct fake_signal *completion)
{
	uint64_t signal = (uint64_t)(uintptr_t)q->doorbell;
	bool called;

	fake_submit(q, completion);
	called = __atomic_load_n(&fake.active_doorbells[kfdshim_doorbell_slot(signal)],
				 __ATOMIC_RELAXED) != signal;
	if (called)
		fake.agent->doorbell(signal);
	return called;
}

void fake_settle(void)
{
	agent_lock();
	agent_unlock();
}

void fake_drain(struct fake_queue *q)
{
	__atomic_store_n(q->rptr, __atomic_load_n(q->wptr, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
}

void fake_drain_but_last(struct fake_queue *q)
{
	__atomic_store_n(q->rptr, __atomic_load_n(q->wptr, __ATOMIC_SEQ_CST) - 1, __ATOMIC_SEQ_CST);
}

void fake_waited(struct fake_signal *signal)
{
	uint64_t handle = (uint64_t)(uintptr_t)signal;

	signal->value = 0;
	fake.agent->wait_end(fake.agent->wait_begin(handle), handle, true);
}

void fake_sleep_us(unsigned us)
{
	struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};

	nanosleep(&t, NULL);
}

void fake_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
	_exit(1);
}

void fake_begin(struct fake_daemon *daemon, struct fake_queue *queue)
{
	fake_daemon_open(daemon);
	fake_start();
	CHECK(fake_queue_create(queue, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) == 0);
	CHECK(fake_daemon_accept(daemon, MEETS_MS) == 0);
	EVENTUALLY(fake_daemon_queue_count(daemon) == 1, 1000);
}

int fake_wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int fake_in_child(void (*body)(void))
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		body();
		_exit(0);
	}
	return pid > 0 ? fake_wait_for(pid) : -1;
}
