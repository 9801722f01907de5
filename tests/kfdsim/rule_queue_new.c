// SPDX-License-Identifier: MIT
/* Every queue is born "new" and cannot be suspended until that is collected;
 * what SUSPEND and RESUME write back, and what they count. */
#include <unistd.h>

#include "conform/lab.h"

#define INVALID KFDABI_QUEUE_INVALID

int main(void)
{
	struct kfdabi_queue_snapshot entries[4] = {0};
	struct kfdabi_runtime_info info;
	struct raw_queue queues[3];
	struct gpu_file gpu;
	uint32_t n, ids[6];
	pid_t self = getpid();

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	queue_new(&gpu, &queues[0]);
	queue_new(&gpu, &queues[1]);
	CHECK_IS(trap_enable(gpu.kfd, self, 0, 1, &info), 0);

	ids[0] = 0;
	ids[1] = 1;
	CHECK_IS(trap_suspend(gpu.kfd, self, ids, 2, 0), 0);
	CHECK_IS(ids[0], 0 | INVALID);
	CHECK_IS(ids[1], 1 | INVALID);

	/* A count alone clears nothing. */
	n = 0;
	CHECK_IS(trap_snapshot(gpu.kfd, self, NEW_MASK, NULL, &n), 0);
	CHECK_IS(n, 2);
	/* Newest first; the status as it was before it was cleared. */
	n = 1;
	CHECK_IS(trap_snapshot(gpu.kfd, self, NEW_MASK, entries, &n), 0);
	CHECK_IS(n, 2);
	CHECK_IS(entries[0].queue_id, 1);
	CHECK_IS(entries[0].exception_status, NEW_MASK);
	CHECK_IS(entries[0].gpu_id, gpu.gpu_id);
	CHECK_IS(entries[0].ring_base_address, (uintptr_t)queues[1].ring.cpu);
	CHECK_IS(entries[0].queue_type, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
	ids[0] = 0;
	ids[1] = 1 | INVALID; /* matches all the same */
	CHECK_IS(trap_suspend(gpu.kfd, self, ids, 2, 0), 1);
	CHECK_IS(ids[0], 0 | INVALID);
	CHECK_IS(ids[1], 1);
	n = 4;
	CHECK_IS(trap_snapshot(gpu.kfd, self, NEW_MASK, entries, &n), 0);
	CHECK_IS(entries[0].exception_status, 0);
	CHECK_IS(entries[1].exception_status, NEW_MASK);

	/* Unknown ids, a second copy and bit 30 stay invalid and count for nothing;
	 * already suspended queues count. */
	ids[0] = 0;
	ids[1] = 7;
	ids[2] = 1;
	ids[3] = 1;
	ids[4] = 0 | KFDABI_QUEUE_ERROR;
	CHECK_IS(trap_suspend(gpu.kfd, self, ids, 5, 0), 2);
	CHECK_IS(ids[0], 0);
	CHECK_IS(ids[1], 7 | INVALID);
	CHECK_IS(ids[2], 1);
	CHECK_IS(ids[3], 1 | INVALID);
	CHECK_IS(ids[4], 0 | KFDABI_QUEUE_ERROR | INVALID);
	ids[0] = 9;
	CHECK_IS(trap_suspend(gpu.kfd, self, ids, 1, 0), 0);
	CHECK_IS(ids[0], 9 | INVALID);
	CHECK_IS(trap_resume(gpu.kfd, self, ids, 1), 0);
	CHECK_IS(ids[0], 9 | INVALID);

	CHECK_IS(trap_suspend(gpu.kfd, self, NULL, 1, 0), -EINVAL);
	CHECK_IS(trap_suspend(gpu.kfd, self, NULL, 0, 0), 0);
	CHECK_IS(trap_suspend(gpu.kfd, self, ids, 1025, 0), -EINVAL);
	CHECK_IS(trap_suspend(gpu.kfd, self, (void *)8, 1, 0), -EFAULT);

	/* RESUME counts what was never suspended; without an array it means all. */
	queue_new(&gpu, &queues[2]);
	ids[0] = 2;
	CHECK_IS(trap_resume(gpu.kfd, self, ids, 1), 1);
	CHECK_IS(ids[0], 2);
	CHECK_IS(trap_resume(gpu.kfd, self, NULL, 0), 3);

	/* SUSPEND's own mask clears "new" only for the next call, and only where one
	 * queue was suspended. */
	ids[0] = 2;
	CHECK_IS(trap_suspend(gpu.kfd, self, ids, 1, NEW_MASK), 0);
	ids[0] = 0;
	ids[1] = 2;
	CHECK_IS(trap_suspend(gpu.kfd, self, ids, 2, NEW_MASK), 1);
	CHECK_IS(ids[1], 2 | INVALID);
	ids[0] = 2;
	CHECK_IS(trap_suspend(gpu.kfd, self, ids, 1, 0), 1);
	return 0;
}
