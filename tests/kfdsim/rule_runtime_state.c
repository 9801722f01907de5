// SPDX-License-Identifier: MIT
/* Queues can be suspended only where the runtime is enabled, and that must have
 * been done before the first queue. */
#include <unistd.h>

#include "conform/lab.h"

int main(void)
{
	struct kfdabi_runtime_info info;
	struct raw_queue queue;
	struct gpu_file gpu;
	uint32_t id = 0;

	gpu_open(&gpu);
	queue_new(&gpu, &queue);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), -EEXIST);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_DISABLED);
	CHECK_IS(trap_suspend(gpu.kfd, getpid(), &id, 1, 0), -EPERM);
	CHECK_IS(id, 0); /* a failed call leaves the caller's memory */
	CHECK_IS(trap_resume(gpu.kfd, getpid(), &id, 1), -EPERM);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);

	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE | KFDABI_RUNTIME_MODE_TTMP_SAVE),
		 0);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), -EBUSY);
	queue_new(&gpu, &queue);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
	CHECK_IS(info.ttmp_setup, 1);
	CHECK_IS(trap_suspend(gpu.kfd, getpid(), &id, 1, 0), 0); /* new: not counted, no error */
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(runtime_enable(&gpu, 0), 0);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), -EEXIST);
	return 0;
}
