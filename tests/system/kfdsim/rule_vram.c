// SPDX-License-Identifier: MIT
/* Proves: VRAM is counted. An allocation that does not fit fails with ENOMEM (a full file system
 * would cause a SIGBUS later), and freed memory can be allocated again and contains zeros. Run with
 * vram_bytes = 72 MiB, of which the driver keeps 8 for page tables. */
#include <string.h>

#include "tools/kfdconform/harness/harness.h"

#define MIB (1ull << 20)

static uint64_t available(const struct gpu_file *gpu)
{
	struct kfd_ioctl_get_available_memory_args a = {.gpu_id = gpu->gpu_id};

	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_AVAILABLE_MEMORY, &a, sizeof a), 0);
	return a.available;
}

/* Returns the value that monitoring programs read. */
static unsigned long long vram_used(void)
{
	FILE *file = fopen("/sys/class/drm/card0/device/mem_info_vram_used", "r");
	unsigned long long used;

	CHECK(file && fscanf(file, "%llu", &used) == 1);
	fclose(file);
	return used;
}

int main(void)
{
	struct buffer first, second, third;
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(available(&gpu), 64 * MIB);
	CHECK_IS(buffer_new(&gpu, 65 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &first), -ENOMEM);
	CHECK_IS(buffer_new(&gpu, 40 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &first), 0);
	CHECK_IS(vram_used(), 40 * MIB);
	memset(first.cpu, 0x77, MIB);
	CHECK_IS(available(&gpu), 24 * MIB);
	CHECK_IS(buffer_new(&gpu, 25 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &second), -ENOMEM);
	CHECK_IS(buffer_new(&gpu, 24 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &second), 0);
	CHECK_IS(buffer_new(&gpu, 4096, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &third), -ENOMEM);
	/* System memory is counted apart. */
	gtt_new(&gpu, 4096, &third);
	CHECK_IS(buffer_free(&gpu, &first), 0);
	CHECK_IS(buffer_free(&gpu, &first), -EINVAL);
	CHECK_IS(vram_used(), 24 * MIB);
	CHECK_IS(buffer_new(&gpu, 40 * MIB, KFD_IOC_ALLOC_MEM_FLAGS_VRAM, &first), 0);
	for (size_t i = 0; i < MIB; i++)
		CHECK(!((char *)first.cpu)[i]);
	return 0;
}
