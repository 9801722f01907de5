// SPDX-License-Identifier: MIT
/* Numbers, sizes and pointers: what the driver does before it looks at a call. */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "conform/lab.h"

int main(void)
{
	struct kfd_ioctl_get_version_args version = {0};
	struct kfd_ioctl_get_clock_counters_args clocks;
	struct kfd_ioctl_alloc_memory_of_gpu_args alloc = {0};
	char big[256];
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_GET_VERSION, &version, sizeof version), 0);
	CHECK_IS(version.major_version, 1);
	CHECK_IS(version.minor_version, 17);

	/* Unknown numbers, and those that were given up. */
	CHECK_IS(lab_ioctl(gpu.kfd, 0, big, 8), -ENOTTY);
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_NR_END, big, 8), -ENOTTY);
	CHECK_IS(lab_ioctl(gpu.kfd, 0x82, big, 40), -ENOTTY);
	for (unsigned nr = 0x0d; nr <= 0x10; nr++)
		CHECK_IS(lab_ioctl(gpu.kfd, nr, big, 8), -EPERM);

	/* A longer structure is cut, a shorter one filled with zeros. */
	memset(big, 0x5a, sizeof big);
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_GET_VERSION, big, sizeof big), 0);
	CHECK_IS(*(uint32_t *)big, 1);
	version.major_version = version.minor_version = 77;
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_GET_VERSION, &version, 4), 0);
	CHECK_IS(version.major_version, 1);
	CHECK_IS(version.minor_version, 77);

	/* Direction in the command word does not count. */
	version.minor_version = 0;
	CHECK_IS(ioctl(gpu.kfd, _IOC(_IOC_NONE, 'K', KFDABI_GET_VERSION, 8), &version), 0);
	CHECK_IS(version.minor_version, 17);

	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_GET_CLOCK_COUNTERS, NULL, sizeof clocks), -EFAULT);
	memset(&clocks, 0, sizeof clocks);
	clocks.gpu_id = gpu.gpu_id;
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_GET_CLOCK_COUNTERS, &clocks, sizeof clocks), 0);
	CHECK_IS(clocks.system_clock_freq, 1000000000);

	/* Results come back even with an error. */
	alloc.size = 4096;
	alloc.gpu_id = gpu.gpu_id + 1;
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_ALLOC_MEMORY_OF_GPU, &alloc, sizeof alloc), -EINVAL);
	{
		void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		/* ... so an error with a structure that cannot be written is EFAULT. */
		CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_ALLOC_MEMORY_OF_GPU, page, sizeof alloc),
			 -EFAULT);
	}
	return 0;
}
