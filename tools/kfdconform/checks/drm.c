// SPDX-License-Identifier: MIT
/* The ioctls of the render node. */
#include <fcntl.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/harness.h"

#define PAGE 4096u
#define BYTES (4ull * PAGE)

static int drm(const struct gpu_file *gpu, unsigned long request, void *arg)
{
	int r = ioctl(gpu->render, request, arg);

	return r < 0 ? -errno : r;
}

/* AMDGPU_INFO. */
static int query_info(const struct gpu_file *gpu, uint32_t query, void *to, uint32_t size)
{
	struct drm_amdgpu_info a = {
		.return_pointer = (uint64_t)(uintptr_t)to, .return_size = size, .query = query};

	return drm(gpu, DRM_IOCTL_AMDGPU_INFO, &a);
}

void check_drm_version_is_amdgpu_3(void)
{
	char name[16] = "";
	struct drm_version a = {.name = name, .name_len = sizeof name - 1};
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(drm(&gpu, DRM_IOCTL_VERSION, &a), 0);
	CHECK(!strcmp(name, "amdgpu"));
	CHECK_IS(a.name_len, 6);
	CHECK_IS(a.version_major, 3);
}

void check_drm_acceleration_works(void)
{
	struct drm_amdgpu_info_device device = {0};
	struct drm_amdgpu_memory_info memory = {0};
	struct gpu_file gpu;
	uint32_t works = 0;

	gpu_open(&gpu);
	CHECK_IS(query_info(&gpu, AMDGPU_INFO_ACCEL_WORKING, &works, sizeof works), 0);
	CHECK_IS(works, 1);
	CHECK_IS(query_info(&gpu, AMDGPU_INFO_DEV_INFO, &device, sizeof device), 0);
	CHECK_IS(device.cu_active_number, gpu.shape.cus);
	CHECK_IS(query_info(&gpu, AMDGPU_INFO_MEMORY, &memory, sizeof memory), 0);
	CHECK(memory.vram.total_heap_size >= memory.vram.heap_usage);
}

void check_drm_info_unknown_is_einval(void)
{
	struct gpu_file gpu;
	uint64_t reply;

	gpu_open(&gpu);
	CHECK_IS(query_info(&gpu, 0xe7, &reply, sizeof reply), -EINVAL);
	CHECK_IS(query_info(&gpu, AMDGPU_INFO_ACCEL_WORKING, &reply, 0), -EINVAL);
}

static uint32_t gem_new(const struct gpu_file *gpu)
{
	union drm_amdgpu_gem_create a = {
		.in = {.bo_size = BYTES, .alignment = PAGE, .domains = AMDGPU_GEM_DOMAIN_GTT}};

	CHECK_IS(drm(gpu, DRM_IOCTL_AMDGPU_GEM_CREATE, &a), 0);
	return a.out.handle;
}

static int gem_close(const struct gpu_file *gpu, uint32_t handle)
{
	struct drm_gem_close a = {.handle = handle};

	return drm(gpu, DRM_IOCTL_GEM_CLOSE, &a);
}

static uint32_t *gem_map(const struct gpu_file *gpu, uint32_t handle)
{
	union drm_amdgpu_gem_mmap a = {.in = {.handle = handle}};
	void *at;

	CHECK_IS(drm(gpu, DRM_IOCTL_AMDGPU_GEM_MMAP, &a), 0);
	at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, gpu->render,
		  (off_t)a.out.addr_ptr);
	CHECK(at != MAP_FAILED);
	return at;
}

void check_gem_close_of_an_unknown_handle_is_einval(void)
{
	struct gpu_file gpu;
	uint32_t handle, *at;

	gpu_open(&gpu);
	handle = gem_new(&gpu);
	at = gem_map(&gpu, handle);
	CHECK_IS(*at, 0);
	*at = 7;
	CHECK_IS(gem_close(&gpu, handle), 0);
	CHECK_IS(gem_close(&gpu, handle), -EINVAL);
}

/* AMDGPU_GEM_VA: maps or unmaps a buffer at a GPU address. */
static int va(const struct gpu_file *gpu, uint32_t handle, uint32_t operation, uint64_t address)
{
	struct drm_amdgpu_gem_va a = {
		.handle = handle,
		.operation = operation,
		.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE,
		.va_address = address,
		.map_size = BYTES,
	};

	return drm(gpu, DRM_IOCTL_AMDGPU_GEM_VA, &a);
}

void check_gem_va_over_another_is_einval(void)
{
	uint64_t address = 1ull << 32;
	struct raw_queue queue;
	struct gpu_file gpu;
	struct signal *at;
	uint32_t first, second;

	gpu_open(&gpu);
	first = gem_new(&gpu);
	second = gem_new(&gpu);
	at = (struct signal *)(void *)gem_map(&gpu, first);
	CHECK_IS(va(&gpu, first, AMDGPU_VA_OP_UNMAP, address), -ENOENT);
	CHECK_IS(va(&gpu, first, AMDGPU_VA_OP_MAP, address), 0);
	CHECK_IS(va(&gpu, second, AMDGPU_VA_OP_MAP, address + PAGE), -EINVAL);
	CHECK_IS(va(&gpu, 99, AMDGPU_VA_OP_MAP, address), -ENOENT);
	/* The GPU sees the memory at this address in the KFD process. */
	at->value = 1;
	queue_new(&gpu, &queue);
	queue_barrier(&queue, NULL, (struct signal *)(uintptr_t)address);
	queue_ring(&queue);
	CHECK(comes(&at->value, 0, 2000));
	CHECK_IS(va(&gpu, first, AMDGPU_VA_OP_UNMAP, address), 0);
}

void check_prime_import_gives_one_handle(void)
{
	struct drm_prime_handle out = {.flags = DRM_CLOEXEC | DRM_RDWR}, in = {0};
	struct gpu_file gpu, other;
	uint32_t first, *here, *there;
	char path[64];

	gpu_open(&gpu);
	other = gpu;
	snprintf(path, sizeof path, "/dev/dri/renderD%u", (unsigned)gpu.shape.render_minor);
	other.render = open(path, O_RDWR | O_CLOEXEC);
	CHECK(other.render >= 0);
	first = gem_new(&gpu);
	here = gem_map(&gpu, first);
	out.handle = first;
	CHECK_IS(drm(&gpu, DRM_IOCTL_PRIME_HANDLE_TO_FD, &out), 0);
	CHECK_IS(lseek(out.fd, 0, SEEK_END), BYTES);
	in.fd = out.fd;
	CHECK_IS(drm(&gpu, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in), 0);
	CHECK_IS(in.handle, first);
	/* Another open file has handles of its own, for the same bytes. */
	CHECK_IS(drm(&other, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in), 0);
	close(out.fd);
	there = gem_map(&other, in.handle);
	*here = 12345;
	CHECK_IS(*there, 12345);
	in.fd = gpu.kfd;
	CHECK_IS(drm(&gpu, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in), -EINVAL);
}
