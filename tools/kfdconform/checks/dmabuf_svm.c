// SPDX-License-Identifier: MIT
/* Memory shared between processes (dmabuf), and process memory used by the GPU (SVM). */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd_pass.h"
#include "tools/kfdconform/checks.h"

#define PAGE 4096u
#define BYTES (4 * PAGE)

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

RULE_CHECK(import_of_another_descriptor_is_einval, gpu_open(&gpu))
{
	uint64_t handle;

	CHECK_IS(import(gpu.kfd, 1 << 20, &handle), -EINVAL);
	CHECK_IS(import(1000, 1 << 20, &handle), -EBADF);
}

RULE_CHECK(dmabuf_info_tells_size_and_gpu, gpu_open(&gpu))
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

/* Imports the memory. A barrier packet of its GPU waits for the first signal, which the owner
 * writes, and then decrements the second one. */
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
	child_start(&child, other_process);
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

/* The SVM ioctl on a range with n attributes. */
static int svm(struct svm_call *a, uint32_t op, const void *at, uint64_t size, uint32_t n)
{
	a->args.start_addr = (uint64_t)(uintptr_t)at;
	a->args.size = size;
	a->args.op = op;
	a->args.nattr = n;
	return harness_ioctl(gpu.kfd, KFDABI_SVM, a, sizeof *a);
}

/* A kernel without SVM returns EPERM for every SVM call. */
static void open_with_svm(void)
{
	struct svm_call a = {0};

	gpu_open(&gpu);
	if (svm(&a, KFD_IOCTL_SVM_OP_GET_ATTR, NULL, 0, 0) == -EPERM)
		SKIP("this kernel has no SVM");
}

RULE_CHECK(svm_in_whole_pages_only, open_with_svm())
{
	struct svm_call a = {.attrs[0] = {KFD_IOCTL_SVM_ATTR_GRANULARITY, 5}};
	char *at = map_pages(2 * PAGE);

	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at + 16, PAGE, 1), -EINVAL);
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at, 100, 1), -EINVAL);
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at, 0, 1), -EINVAL);
}

RULE_CHECK(svm_unknown_attribute_is_einval, open_with_svm())
{
	struct svm_call a = {.attrs[0] = {99, 0}};
	void *at = map_pages(PAGE);

	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at, PAGE, 1), -EINVAL);
}

RULE_CHECK(svm_without_memory_is_efault, open_with_svm())
{
	struct svm_call a = {.attrs[0] = {KFD_IOCTL_SVM_ATTR_GRANULARITY, 5}};
	void *at = map_pages(PAGE);

	munmap(at, PAGE);
	CHECK_IS(svm(&a, KFD_IOCTL_SVM_OP_SET_ATTR, at, PAGE, 1), -EFAULT);
}

RULE_CHECK(svm_attributes_persist, open_with_svm())
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

RULE_CHECK(svm_attributes_end_with_the_memory, open_with_svm())
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

RULE_CHECK(alloc_in_an_svm_range_is_eaddrinuse, open_with_svm())
{
	struct svm_call svm_args = {.attrs[0] = {KFD_IOCTL_SVM_ATTR_GRANULARITY, 5}};
	struct kfd_ioctl_alloc_memory_of_gpu_args a = {
		.size = PAGE,
		.flags = KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE,
	};
	void *at = map_pages(PAGE);

	a.gpu_id = gpu.gpu_id;
	a.va_addr = (uint64_t)(uintptr_t)at;
	CHECK_IS(svm(&svm_args, KFD_IOCTL_SVM_OP_SET_ATTR, at, PAGE, 1), 0);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_ALLOC_MEMORY_OF_GPU, &a, sizeof a), -EADDRINUSE);
}

RULE_CHECK(xnack_mode_with_queues_is_ebusy, gpu_open(&gpu))
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
