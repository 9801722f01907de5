// SPDX-License-Identifier: MIT
/* Checks of ALLOC, FREE, MAP and UNMAP_MEMORY, ACQUIRE_VM and the queries about memory; memory
 * shared between processes (dmabuf), and process memory used by the GPU (SVM). */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/fd_pass.h"
#include "tools/kfdconform/checks.h"

#define BYTES (4 * PAGE)
#define MIB (1ull << 20)
#define VRAM (KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
#define GTT (KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)
#define USERPTR (KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE)

typedef struct kfd_ioctl_alloc_memory_of_gpu_args alloc_args;

static uint64_t addresses(uint64_t size)
{
	void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(at != MAP_FAILED);
	return (uint64_t)(uintptr_t)at;
}

/* Returns the arguments of ALLOC_MEMORY for new addresses of this size. */
static alloc_args request(uint64_t size, uint32_t flags)
{
	return (alloc_args){
		.va_addr = addresses(size ? size : PAGE),
		.size = size,
		.gpu_id = gpu.gpu_id,
		.flags = flags,
	};
}

/* Arguments of the ALLOC_MEMORY of a check. */
static alloc_args memory;

static int alloc(alloc_args *a)
{
	return harness_ioctl(gpu.kfd, KFDABI_ALLOC_MEMORY_OF_GPU, a, sizeof *a);
}

/* n_success, the number of GPUs that are already mapped: map_call() passes it to the driver and
 * sets it to the value that the driver returns. */
static uint32_t done;

static int map_call(uint64_t handle, const void *ids, uint32_t n)
{
	struct kfd_ioctl_map_memory_to_gpu_args call = {
		.handle = handle,
		.device_ids_array_ptr = (uint64_t)(uintptr_t)ids,
		.n_devices = n,
		.n_success = done,
	};
	int r = harness_ioctl(gpu.kfd, KFDABI_MAP_MEMORY_TO_GPU, &call, sizeof call);

	done = call.n_success;
	return r;
}

static uint64_t available(void)
{
	struct kfd_ioctl_get_available_memory_args a = {.gpu_id = gpu.gpu_id};

	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_AVAILABLE_MEMORY, &a, sizeof a), 0);
	return a.available;
}

static int alloc_of(uint64_t size, uint32_t flags)
{
	memory = request(size, flags);
	return alloc(&memory);
}

/* Allocates a page of system memory, not mapped, and returns its handle. */
static uint64_t page_of(void)
{
	CHECK_IS(alloc_of(PAGE, GTT), 0);
	return memory.handle;
}

RULE_IS(alloc_of_nothing_is_einval, gpu_open(&gpu), alloc_of(0, VRAM), -EINVAL)
RULE_IS(alloc_without_vm_is_enodev, gpu_open_without_vm(&gpu), alloc_of(PAGE, VRAM), -ENODEV)
RULE_IS(alloc_needs_a_kind_of_memory, gpu_open(&gpu),
	alloc_of(PAGE, KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE), -EINVAL)
RULE_IS(userptr_needs_an_address, gpu_open(&gpu), alloc_of(PAGE, USERPTR), -EINVAL)

static RULE_CHECK(alloc_on_an_unknown_gpu_is_einval, gpu_open(&gpu))
{
	memory = request(PAGE, VRAM);
	memory.gpu_id = 1;
	CHECK_IS(alloc(&memory), -EINVAL);
}

static RULE_CHECK(alloc_beyond_vram_is_enomem, gpu_open(&gpu))
{
	uint64_t before, left;

	before = available();
	memory = request(PAGE, VRAM);
	memory.size = before + 64 * MIB;
	CHECK_IS(alloc(&memory), -ENOMEM);
	left = available();
	CHECK(left >= before || before - left < 64 * MIB); /* other processes may allocate */
}

static RULE_CHECK(available_memory_falls_in_2_mib_steps, gpu_open(&gpu))
{
	uint64_t before = available();

	CHECK_IS(before % (2 * MIB), 0);
	CHECK_IS(alloc_of(PAGE, VRAM), 0);
	CHECK_IS(before - available(), 2 * MIB);
	CHECK_IS(memory_free(&gpu, memory.handle), 0);
	CHECK_IS(available(), before);
}

static RULE_CHECK(userptr_without_memory_is_efault, gpu_open(&gpu))
{
	memory = request(PAGE, USERPTR);
	memory.mmap_offset = addresses(PAGE);
	munmap((void *)(uintptr_t)memory.mmap_offset, PAGE);
	CHECK_IS(alloc(&memory), -EFAULT);
	memory.mmap_offset = (uint64_t)(uintptr_t)map_pages(PAGE);
	CHECK_IS(alloc(&memory), 0);
	CHECK_IS(memory_map(&gpu, memory.handle), 0);
}

static RULE_CHECK(doorbell_memory_is_two_pages, gpu_open(&gpu))
{
	CHECK_IS(alloc_of(PAGE, KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL), -EINVAL);
	memory.size = 2 * PAGE;
	CHECK_IS(alloc(&memory), 0);
}

/* Maps the doorbells of this process to the GPU and returns their GPU address. */
static uint64_t doorbells_for_gpu(void)
{
	CHECK_IS(alloc_of(2 * PAGE,
			  KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE),
		 0);
	CHECK_IS(memory_map(&gpu, memory.handle), 0);
	return memory.va_addr;
}

void check_gpu_write_rings_a_doorbell(void)
{
	enum { SDMA_WRITE = 2, DWORDS = 2 };
	struct raw_queue sdma, *queue;
	struct signal *sent;
	uint64_t at, value;

	self_debug_open(1);
	gpu = self.gpu;
	queue = &self.queues[0];
	self_debug_sdma(&sdma);
	/* When the fence is written, the queues are mapped and their write pointers have been
	 * read. */
	CHECK(comes(self_debug_fence(&sdma, 1), 1, SELF_DEBUG_RUNS_MS));
	sent = self_debug_send_silently(queue);
	at = doorbells_for_gpu() + queue->doorbell_at;
	value = queue->written - 1;
	self_debug_sdma_put(&sdma,
			    (uint32_t[]){SDMA_WRITE, (uint32_t)at, (uint32_t)(at >> 32), DWORDS - 1,
					 (uint32_t)value, (uint32_t)(value >> 32)},
			    24);
	CHECK(self_debug_done(sent));
}

static RULE_CHECK(mmio_memory_is_one_page, gpu_open(&gpu))
{
	CHECK_IS(alloc_of(2 * PAGE, KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP), -EINVAL);
	memory.size = PAGE;
	CHECK_IS(alloc(&memory), 0);
}

static RULE_CHECK(memory_handles_lowest_free_first, gpu_open(&gpu))
{
	uint64_t first = page_of(), second = page_of();

	CHECK_IS(first >> 32, gpu.gpu_id);
	CHECK_IS(second, first + 1);
	CHECK_IS(memory_free(&gpu, first), 0);
	CHECK_IS(page_of(), first);
}

static RULE_CHECK(free_of_an_unknown_handle_is_einval, gpu_open(&gpu))
{
	uint64_t handle = page_of();

	CHECK_IS(memory_free(&gpu, handle), 0);
	CHECK_IS(memory_free(&gpu, handle), -EINVAL);
	CHECK_IS(memory_free(&gpu, 0), -EINVAL);
}

static RULE_CHECK(free_of_a_mapped_buffer_is_ebusy, gpu_open(&gpu))
{
	uint64_t handle = page_of();

	CHECK_IS(memory_map(&gpu, handle), 0);
	CHECK_IS(memory_free(&gpu, handle), -EBUSY);
	CHECK_IS(memory_unmap(&gpu, handle), 0);
	CHECK_IS(memory_free(&gpu, handle), 0);
}

static RULE_CHECK(event_page_cannot_be_freed, gpu_open(&gpu))
{
	struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_SIGNAL};

	CHECK_IS(alloc_of(KFD_SIGNAL_EVENT_LIMIT * 8, GTT), 0);
	event.event_page_offset = memory.handle;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &event, sizeof event), 0);
	CHECK_IS(memory_free(&gpu, memory.handle), -EPERM);
}

RULE_IS(map_to_no_gpu_is_einval, gpu_open(&gpu), map_call(page_of(), &gpu.gpu_id, 0), -EINVAL)
RULE_IS(map_with_a_bad_array_is_efault, gpu_open(&gpu), map_call(page_of(), (void *)16, 1), -EFAULT)
RULE_IS(unmap_of_what_is_not_mapped_is_einval, gpu_open(&gpu), memory_unmap(&gpu, page_of()),
	-EINVAL)

void check_map_n_success_beyond_n_is_einval(void)
{
	done = 2;
	gpu_open(&gpu);
	CHECK_IS(map_call(page_of(), &gpu.gpu_id, 1), -EINVAL);
}

static RULE_CHECK(map_of_an_unknown_handle_is_enomem, gpu_open(&gpu))
{
	uint64_t handle = page_of();

	CHECK_IS(memory_free(&gpu, handle), 0);
	CHECK_IS(memory_map(&gpu, handle), -ENOMEM);
	CHECK_IS(memory_map(&gpu, 1ull << 32), -EINVAL); /* its upper half is the id of no GPU */
}

static RULE_CHECK(map_tells_how_many_succeeded, gpu_open(&gpu))
{
	uint32_t ids[2] = {0, 1};

	ids[0] = gpu.gpu_id;
	CHECK_IS(map_call(page_of(), ids, 2), -EINVAL);
	CHECK_IS(done, 1);
}

static RULE_CHECK(map_over_another_is_einval, gpu_open(&gpu))
{
	alloc_args b;

	memory = request(2 * PAGE, GTT);
	b = request(PAGE, GTT);
	b.va_addr = memory.va_addr + PAGE;
	CHECK_IS(alloc(&memory), 0);
	CHECK_IS(alloc(&b), 0);
	CHECK_IS(memory_map(&gpu, memory.handle), 0);
	CHECK_IS(memory_map(&gpu, b.handle), -EINVAL);
	CHECK_IS(memory_map(&gpu, memory.handle), 0); /* mapping it again has no effect */
}

/* Accesses a word as another process would, by process_vm_readv() or process_vm_writev() on the own
 * process. Returns 0 or a negative errno. */
static int foreign(ssize_t call(pid_t, const struct iovec *, unsigned long, const struct iovec *,
				unsigned long, unsigned long),
		   volatile void *address)
{
	uint64_t word = 0;
	struct iovec here = {&word, sizeof word};
	struct iovec there = {(void *)(uintptr_t)address, sizeof word};

	return call(getpid(), &here, 1, &there, 1, 0) == sizeof word ? 0 : -errno;
}

static RULE_CHECK(device_memory_is_not_for_process_vm, gpu_open(&gpu))
{
	struct raw_queue queue;
	struct buffer gtt, vram;
	uint64_t own = 1;

	gtt_new(&gpu, PAGE, &gtt);
	vram_new(&gpu, PAGE, &vram);
	queue_new(&gpu, &queue);
	*(volatile uint64_t *)gtt.cpu = *(volatile uint64_t *)vram.cpu = 1; /* the memory exists */
	CHECK_IS(foreign(process_vm_readv, &own), 0);
	CHECK_IS(foreign(process_vm_readv, gtt.cpu), -EFAULT);
	CHECK_IS(foreign(process_vm_readv, vram.cpu), -EFAULT);
	CHECK_IS(foreign(process_vm_readv, queue.doorbell), -EFAULT);
	CHECK_IS(foreign(process_vm_writev, gtt.cpu), -EFAULT);
	CHECK_IS(foreign(process_vm_writev, vram.cpu), -EFAULT);
	CHECK_IS(*(volatile uint64_t *)gtt.cpu, 1);
	CHECK_IS(foreign(process_vm_writev, &own), 0);
	CHECK_IS(own, 0);
}

static RULE_CHECK(second_vm_file_is_ebusy, gpu_open(&gpu))
{
	struct kfd_ioctl_acquire_vm_args vm = (struct kfd_ioctl_acquire_vm_args){
		.drm_fd = (uint32_t)gpu.render, .gpu_id = gpu.gpu_id};

	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_ACQUIRE_VM, &vm, sizeof vm), 0);
	vm.drm_fd = (uint32_t)render_open(&gpu);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_ACQUIRE_VM, &vm, sizeof vm), -EBUSY);
	vm.drm_fd = 1000;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_ACQUIRE_VM, &vm, sizeof vm), -EINVAL);
}

void check_apertures_probe_tells_the_count(void)
{
	struct kfd_ioctl_get_process_apertures_new_args a = {0};
	struct kfd_process_device_apertures one[64] = {0};
	struct gpu_shape shape;
	uint32_t n = 0;
	int kfd = device_open();

	while (!harness_shape(n, &shape))
		n++;
	CHECK_IS(harness_ioctl(kfd, KFDABI_GET_PROCESS_APERTURES_NEW, &a, sizeof a), 0);
	CHECK_IS(a.num_of_nodes, n);
	a.kfd_process_device_apertures_ptr = (uint64_t)(uintptr_t)one;
	CHECK_IS(harness_ioctl(kfd, KFDABI_GET_PROCESS_APERTURES_NEW, &a, sizeof a), 0);
	CHECK_IS(a.num_of_nodes, n);
	CHECK(one[0].gpuvm_limit > one[0].gpuvm_base && one[0].lds_base && one[0].gpu_id);
}

/* ---- dmabuf and SVM ---- */

static int export(uint64_t handle)
{
	struct kfdabi_export_dmabuf a = {.handle = handle, .flags = O_CLOEXEC};
	int r = harness_ioctl(gpu.kfd, KFDABI_EXPORT_DMABUF, &a, sizeof a);

	return r < 0 ? r : (int)a.dmabuf_fd;
}

static int import(int fd, uint64_t va, uint64_t *handle)
{
	struct kfd_ioctl_import_dmabuf_args a = {
		.va_addr = va, .gpu_id = gpu.gpu_id, .dmabuf_fd = (uint32_t)fd};
	int r = harness_ioctl(gpu.kfd, KFDABI_IMPORT_DMABUF, &a, sizeof a);

	*handle = a.handle;
	return r;
}

RULE_IS(export_of_an_unknown_handle_is_einval, gpu_open(&gpu),
	export((uint64_t)gpu.gpu_id << 32 | 77), -EINVAL)

static RULE_CHECK(import_of_another_descriptor_is_einval, gpu_open(&gpu))
{
	uint64_t handle;

	CHECK_IS(import(gpu.kfd, 1 << 20, &handle), -EINVAL);
	CHECK_IS(import(1000, 1 << 20, &handle), -EBADF);
}

static RULE_CHECK(dmabuf_info_tells_size_and_gpu, gpu_open(&gpu))
{
	struct kfd_ioctl_get_dmabuf_info_args info = {0};
	struct buffer buffer;
	int fd;

	gtt_new(&gpu, BYTES, &buffer);
	fd = export(buffer.handle);
	CHECK(fd >= 0);
	info.dmabuf_fd = (uint32_t)fd;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_GET_DMABUF_INFO, &info, sizeof info), 0);
	CHECK_IS(info.size, BYTES);
	CHECK_IS(info.gpu_id, gpu.gpu_id);
	CHECK(info.flags & KFD_IOC_ALLOC_MEM_FLAGS_GTT);
	CHECK_IS(lseek(fd, 0, SEEK_END), BYTES);
	info.dmabuf_fd = 1000;
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_GET_DMABUF_INFO, &info, sizeof info), -EBADF);
}

static int sockets[2];

/* Body of a child: imports the memory. A barrier packet of its queue waits for the first signal
 * there, which the owner writes, and then decrements the second one. */
static void other_process(int from, int to)
{
	struct raw_queue queue;
	struct signal *theirs;
	uint64_t handle;
	int fd = fd_receive(sockets[1]);

	gpu_open(&gpu);
	theirs = map_pages(BYTES);
	CHECK_IS(import(fd, (uint64_t)(uintptr_t)theirs, &handle), 0);
	CHECK_IS(memory_map(&gpu, handle), 0);
	close(fd);
	notify(to);
	hear(from); /* until the owner has freed it */
	queue_new(&gpu, &queue);
	queue_barrier(&queue, &theirs[0], &theirs[1]);
	queue_ring(&queue);
	notify(to);
	hear(from);
}

void check_imported_memory_is_the_same(void)
{
	struct buffer buffer;
	struct signal *shared;
	struct child child;
	int fd;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	child_begin(&child, other_process);
	gpu_open(&gpu);
	gtt_new(&gpu, BYTES, &buffer);
	shared = buffer.cpu;
	shared[0].value = 1;
	shared[1].value = 1;
	fd = export(buffer.handle);
	CHECK(fd >= 0);
	CHECK_IS(fd_send(sockets[0], fd), 0);
	close(fd);
	hear(child.from);
	/* Free the owner's handle; its mmap() of the pages stays. */
	CHECK_IS(memory_unmap(&gpu, buffer.handle), 0);
	CHECK_IS(memory_free(&gpu, buffer.handle), 0);
	notify(child.to);
	hear(child.from);
	sleep_ms(5);
	CHECK_IS(shared[1].value, 1); /* the packet waits for the first signal */
	__atomic_store_n(&shared[0].value, 0, __ATOMIC_RELEASE);
	CHECK(comes(&shared[1].value, 0, 2000));
	notify(child.to);
	CHECK_IS(child_end(&child), 0);
}

struct svm_call {
	struct kfd_ioctl_svm_args args;
	struct kfd_ioctl_svm_attribute attrs[3];
};

/* Calls the SVM ioctl on a range, with n attributes. */
static int svm(struct svm_call *a, uint32_t op, const void *at, uint64_t size, uint32_t n)
{
	a->args.start_addr = (uint64_t)(uintptr_t)at;
	a->args.size = size;
	a->args.op = op;
	a->args.nattr = n;
	return harness_ioctl(gpu.kfd, KFDABI_SVM, a, sizeof *a);
}

/* Opens the GPU; skips the check if the kernel has no SVM and so returns EPERM for SVM calls. */
static void open_with_svm(void)
{
	struct svm_call a = {0};

	gpu_open(&gpu);
	if (svm(&a, KFD_IOCTL_SVM_OP_GET_ATTR, NULL, 0, 0) == -EPERM)
		SKIP("this kernel has no SVM");
}

static RULE_CHECK(svm_in_whole_pages_only, open_with_svm())
{
	struct svm_call a = {.attrs[0] = {KFD_IOCTL_SVM_ATTR_GRANULARITY, 5}};
	char *at = map_pages(2 * PAGE);

	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at + 16, PAGE, 1), -EINVAL);
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at, 100, 1), -EINVAL);
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at, 0, 1), -EINVAL);
}

static RULE_CHECK(svm_unknown_attribute_is_einval, open_with_svm())
{
	struct svm_call a = {.attrs[0] = {99, 0}};
	void *at = map_pages(PAGE);

	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at, PAGE, 1), -EINVAL);
}

static RULE_CHECK(svm_without_memory_is_efault, open_with_svm())
{
	struct svm_call a = {.attrs[0] = {KFD_IOCTL_SVM_ATTR_GRANULARITY, 5}};
	void *at = map_pages(PAGE);

	munmap(at, PAGE);
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at, PAGE, 1), -EFAULT);
}

static RULE_CHECK(svm_attributes_persist, open_with_svm())
{
	struct svm_call a = {0};
	char *at = map_pages(4 * PAGE);

	a.attrs[0] = (struct kfd_ioctl_svm_attribute){KFD_IOCTL_SVM_ATTR_GRANULARITY, 5};
	a.attrs[1] =
		(struct kfd_ioctl_svm_attribute){KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, gpu.gpu_id};
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at + PAGE, 2 * PAGE, 2), 0);
	a.attrs[0].value = 0;
	a.attrs[1].type = KFD_IOCTL_SVM_ATTR_ACCESS;
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_GET_ATTR, at + 2 * PAGE, PAGE, 2), 0);
	CHECK_IS(a.attrs[0].value, 5);
	CHECK_IS(a.attrs[1].type, KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE);
	a.attrs[1].type = KFD_IOCTL_SVM_ATTR_ACCESS;
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_GET_ATTR, at + 3 * PAGE, PAGE, 2), 0);
	CHECK(a.attrs[0].value != 5);
	a.attrs[0] = (struct kfd_ioctl_svm_attribute){KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 0};
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_GET_ATTR, at, PAGE, 1), 0);
	CHECK_IS(a.attrs[0].value, KFD_IOCTL_SVM_LOCATION_UNDEFINED);
}

static RULE_CHECK(svm_attributes_end_with_the_memory, open_with_svm())
{
	struct svm_call a = {.attrs[0] = {KFD_IOCTL_SVM_ATTR_GRANULARITY, 5}};
	char *at = map_pages(4 * PAGE);

	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at, 4 * PAGE, 1), 0);
	CHECK(!munmap(at + PAGE, 2 * PAGE));
	CHECK_IS(harness_version(gpu.kfd), 0);
	CHECK(mmap(at + PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at + PAGE);
	for (unsigned i = 0; i < 4; i++) {
		a.attrs[0].value = 0;
		CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_GET_ATTR, at + i * PAGE, PAGE, 1), 0);
		CHECK((a.attrs[0].value == 5) == (i == 0 || i == 3));
	}
}

static RULE_CHECK(alloc_in_an_svm_range_is_eaddrinuse, open_with_svm())
{
	struct svm_call svm_args = {.attrs[0] = {KFD_IOCTL_SVM_ATTR_GRANULARITY, 5}};
	void *at = map_pages(PAGE);

	CHECK_IS(svm(&svm_args, KFD_IOCTL_SVM_OP_SET_ATTR, at, PAGE, 1), 0);
	memory = request(PAGE, GTT);
	memory.va_addr = (uint64_t)(uintptr_t)at;
	CHECK_IS(alloc(&memory), -EADDRINUSE);
}

static RULE_CHECK(xnack_mode_with_queues_is_ebusy, gpu_open(&gpu))
{
	struct kfd_ioctl_set_xnack_mode_args a = {.xnack_enabled = -1};
	struct raw_queue queue;

	if (harness_ioctl(gpu.kfd, KFDABI_SET_XNACK_MODE, &a, sizeof a) == -EPERM)
		SKIP("this kernel has no SVM");
	CHECK(a.xnack_enabled == 0 || a.xnack_enabled == 1);
	queue_new(&gpu, &queue);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_SET_XNACK_MODE, &a, sizeof a), -EBUSY);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_SET_XNACK_MODE, &a, sizeof a), 0);
}
