// SPDX-License-Identifier: MIT
/* Proves: DESTROY_QUEUE of a suspended queue sleeps until the queue is resumed. If the target is
 * killed meanwhile, its queues are destroyed and the debugger gets ESRCH. */
#include <signal.h>
#include <sys/wait.h>

#include "tools/kfdconform/harness/harness.h"

static void body(int from, int to)
{
	struct raw_queue queues[2];
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	queue_new(&gpu, &queues[0]);
	queue_new(&gpu, &queues[1]);
	notify(to);
	for (int i = 0; i < 2; i++) {
		hear(from);
		CHECK_IS(queue_destroy(&gpu, queues[i].id), 0);
		notify(to);
	}
}

int main(void)
{
	struct kfdabi_queue_snapshot entries[2];
	struct kfdabi_runtime_info info;
	uint32_t n = 2, ids[2] = {0, 1};
	struct gpu_file gpu;
	struct child child;

	gpu_open(&gpu);
	child_begin(&child, body);
	hear(child.from);
	seize(child.pid);
	CHECK_IS(trap_enable(gpu.kfd, child.pid, 0, 1, &info), 0);
	CHECK_IS(trap_snapshot(gpu.kfd, child.pid, NEW_MASK, entries, &n), 0);
	CHECK_IS(dbg_suspend(gpu.kfd, child.pid, ids, 2, 0), 2);
	notify(child.to);
	CHECK(!hears(child.from, 200));
	/* A queue that is being destroyed cannot be suspended again. */
	ids[0] = 0;
	CHECK_IS(dbg_resume(gpu.kfd, child.pid, ids, 1), 1);
	CHECK(hears(child.from, 10000));
	n = 0;
	CHECK_IS(trap_snapshot(gpu.kfd, child.pid, 0, NULL, &n), 0);
	CHECK_IS(n, 1);

	notify(child.to); /* destroys the second queue, which is still suspended */
	CHECK(!hears(child.from, 200));
	CHECK(!kill(child.pid, SIGKILL));
	CHECK(WIFSIGNALED(child_end(&child)));
	sleep_ms(20);
	CHECK_IS(dbg_resume(gpu.kfd, child.pid, NULL, 0), -ESRCH);
	CHECK_IS(trap_disable(gpu.kfd, child.pid), -ESRCH);
	return 0;
}
