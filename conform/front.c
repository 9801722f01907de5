// SPDX-License-Identifier: MIT
/* The driver's front end (kfd-facts: CD:kfd_ioctl). */
#include <errno.h>

#include "conform/checks.h"
#include "conform/lab.h"

void check_unknown_ioctl_is_enotty(void)
{
	char data[64] = {0};
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(lab_ioctl(gpu.kfd, 0x29, data, sizeof data), -ENOTTY);
	CHECK_IS(lab_ioctl(gpu.kfd, 0x7f, data, sizeof data), -ENOTTY);
	CHECK_IS(lab_ioctl(gpu.kfd, 0, data, sizeof data), -ENOTTY);
}

void check_version_is_one_dot(void)
{
	struct kfd_ioctl_get_version_args version = {0};
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_GET_VERSION, &version, sizeof version), 0);
	CHECK_IS(version.major_version, 1);
	CHECK(version.minor_version >= 13);
}
