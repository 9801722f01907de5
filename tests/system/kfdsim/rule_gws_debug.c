// SPDX-License-Identifier: MIT
/* Proves, for firmware that cannot do both: a process either uses global wave sync or is debugged,
 * and the later request gets EBUSY. An open session is checked before that and gives EALREADY; a
 * bad dbg_fd is checked later.
 *
 * Run as an MI100 with fw_version 40. */
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

static struct gpu_file gpu;
static struct raw_queue queue;

static int gws(uint32_t n)
{
	struct kfd_ioctl_alloc_queue_gws_args a = {.queue_id = queue.id, .num_gws = n};

	return harness_ioctl(gpu.kfd, KFDABI_ALLOC_QUEUE_GWS, &a, sizeof a);
}

static int enable(int dbg_fd)
{
	struct kfdabi_runtime_info info;

	return trap_enable(gpu.kfd, getpid(), 0, dbg_fd, &info);
}

int main(void)
{
	gpu_open(&gpu);
	queue_new(&gpu, &queue);
	CHECK_IS(gws(64), 0);
	CHECK_IS(enable(STDERR_FILENO), -EBUSY);
	CHECK_IS(enable(999), -EBUSY);
	CHECK_IS(gws(0), 0);
	CHECK_IS(enable(STDERR_FILENO), 0);
	CHECK_IS(gws(64), -EBUSY);
	CHECK_IS(enable(STDERR_FILENO), -EALREADY);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(gws(64), 0);
	return 0;
}
