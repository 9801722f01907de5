// SPDX-License-Identifier: MIT
/* Checks of the ioctls of the render node. */
#include <fcntl.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"

#define BYTES (4ull * PAGE)

static struct raw_queue queue;

static int drm(unsigned long request, void *arg)
{
	int r = ioctl(gpu.render, request, arg);

	return r < 0 ? -errno : r;
}

/* Calls AMDGPU_INFO with this query. */
static int query_info(uint32_t query, void *to, uint32_t size)
{
	struct drm_amdgpu_info a = {
		.return_pointer = (uint64_t)(uintptr_t)to, .return_size = size, .query = query};

	return drm(DRM_IOCTL_AMDGPU_INFO, &a);
}

static RULE_CHECK(drm_version_is_amdgpu_3, gpu_open(&gpu))
{
	char name[16] = "";
	struct drm_version a = {.name = name, .name_len = sizeof name - 1};

	CHECK_IS(drm(DRM_IOCTL_VERSION, &a), 0);
	CHECK(!strcmp(name, "amdgpu"));
	CHECK_IS(a.name_len, 6);
	CHECK_IS(a.version_major, 3);
}

static RULE_CHECK(drm_acceleration_works, gpu_open(&gpu))
{
	struct drm_amdgpu_info_device device = {0};
	struct drm_amdgpu_memory_info memory = {0};
	uint32_t works = 0;

	CHECK_IS(query_info(AMDGPU_INFO_ACCEL_WORKING, &works, sizeof works), 0);
	CHECK_IS(works, 1);
	CHECK_IS(query_info(AMDGPU_INFO_DEV_INFO, &device, sizeof device), 0);
	CHECK_IS(device.cu_active_number, gpu.shape.cus);
	CHECK_IS(query_info(AMDGPU_INFO_MEMORY, &memory, sizeof memory), 0);
	CHECK(memory.vram.total_heap_size >= memory.vram.heap_usage);
}

static RULE_CHECK(drm_info_unknown_is_einval, gpu_open(&gpu))
{
	uint64_t reply;

	CHECK_IS(query_info(0xe7, &reply, sizeof reply), -EINVAL);
	CHECK_IS(query_info(AMDGPU_INFO_ACCEL_WORKING, &reply, 0), -EINVAL);
}

static uint32_t gem_new(void)
{
	union drm_amdgpu_gem_create a = {
		.in = {.bo_size = BYTES, .alignment = PAGE, .domains = AMDGPU_GEM_DOMAIN_GTT}};

	CHECK_IS(drm(DRM_IOCTL_AMDGPU_GEM_CREATE, &a), 0);
	return a.out.handle;
}

static int gem_close(uint32_t handle)
{
	struct drm_gem_close a = {.handle = handle};

	return drm(DRM_IOCTL_GEM_CLOSE, &a);
}

static uint32_t *gem_map(uint32_t handle)
{
	union drm_amdgpu_gem_mmap a = {.in = {.handle = handle}};
	void *at;

	CHECK_IS(drm(DRM_IOCTL_AMDGPU_GEM_MMAP, &a), 0);
	at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, gpu.render,
		  (off_t)a.out.addr_ptr);
	CHECK(at != MAP_FAILED);
	return at;
}

static RULE_CHECK(gem_close_of_an_unknown_handle_is_einval, gpu_open(&gpu))
{
	uint32_t handle = gem_new(), *at = gem_map(handle);

	CHECK_IS(*at, 0);
	*at = 7;
	CHECK_IS(gem_close(handle), 0);
	CHECK_IS(gem_close(handle), -EINVAL);
}

/* Calls AMDGPU_GEM_VA, which maps or unmaps a buffer at a GPU address. */
static int va(uint32_t handle, uint32_t operation, uint64_t address)
{
	struct drm_amdgpu_gem_va a = {
		.handle = handle,
		.operation = operation,
		.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE,
		.va_address = address,
		.map_size = BYTES,
	};

	return drm(DRM_IOCTL_AMDGPU_GEM_VA, &a);
}

static RULE_CHECK(gem_va_over_another_is_einval, gpu_open(&gpu))
{
	uint64_t address = 1ull << 32;
	uint32_t first = gem_new(), second = gem_new();
	struct signal *at = (struct signal *)(void *)gem_map(first);

	CHECK_IS(va(first, AMDGPU_VA_OP_UNMAP, address), -ENOENT);
	CHECK_IS(va(first, AMDGPU_VA_OP_MAP, address), 0);
	CHECK_IS(va(second, AMDGPU_VA_OP_MAP, address + PAGE), -EINVAL);
	CHECK_IS(va(99, AMDGPU_VA_OP_MAP, address), -ENOENT);
	/* The mapping also counts for KFD: a queue of the process can write to this address. */
	at->value = 1;
	queue_new(&gpu, &queue);
	queue_barrier(&queue, NULL, (struct signal *)(uintptr_t)address);
	queue_ring(&queue);
	CHECK(comes(&at->value, 0, 2000));
	CHECK_IS(va(first, AMDGPU_VA_OP_UNMAP, address), 0);
}

static RULE_CHECK(prime_import_gives_one_handle, gpu_open(&gpu))
{
	struct drm_prime_handle out = {.flags = DRM_CLOEXEC | DRM_RDWR}, in = {0};
	uint32_t first, *here, *there;

	first = gem_new();
	here = gem_map(first);
	out.handle = first;
	CHECK_IS(drm(DRM_IOCTL_PRIME_HANDLE_TO_FD, &out), 0);
	CHECK_IS(lseek(out.fd, 0, SEEK_END), BYTES);
	in.fd = out.fd;
	CHECK_IS(drm(DRM_IOCTL_PRIME_FD_TO_HANDLE, &in), 0);
	CHECK_IS(in.handle, first);
	in.fd = gpu.kfd;
	CHECK_IS(drm(DRM_IOCTL_PRIME_FD_TO_HANDLE, &in), -EINVAL);
	/* Another open file has its own handle for the same memory. */
	gpu.render = render_open(&gpu);
	in.fd = out.fd;
	CHECK_IS(drm(DRM_IOCTL_PRIME_FD_TO_HANDLE, &in), 0);
	close(out.fd);
	there = gem_map(in.handle);
	*here = 12345;
	CHECK_IS(*there, 12345);
}
