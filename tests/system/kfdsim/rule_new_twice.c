// SPDX-License-Identifier: MIT
/* Proves: under an open session a queue becomes "new" twice, when it is created and when
 * CREATE_QUEUE releases the process. A snapshot that waits for the process between the two
 * clears only the first mark.
 *
 * The runlist update is long (update_us = 1000000), so that the snapshot certainly falls into
 * it. */
#include <fcntl.h>
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

static void body(int from, int to)
{
	struct kfdabi_create_queue args;
	struct raw_queue queue;
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	queue_args(&gpu, &queue, &args);
	notify(to);
	hear(from);
	notify(to);
	CHECK_IS(queue_create(&gpu, &queue, &args), 0);
	notify(to);
	hear(from);
}

int main(void)
{
	struct kfdabi_queue_snapshot entry = {0};
	struct kfdabi_runtime_info info;
	struct raw_queue other;
	struct gpu_file gpu;
	struct child child;
	uint32_t n = 1, id = 0;
	int events[2];

	gpu_open(&gpu);
	child_begin(&child, body);
	queue_new(&gpu, &other); /* CREATE_QUEUE waits only to take queues off */
	CHECK(!pipe2(events, O_CLOEXEC | O_NONBLOCK));
	hear(child.from);
	seize(child.pid);
	CHECK_IS(trap_enable(gpu.kfd, child.pid, NEW_MASK, events[1], &info), 0);
	notify(child.to);
	hear(child.from);
	until_asleep(child.pid); /* asleep in CREATE_QUEUE; the child makes no other call here */
	CHECK_IS(trap_snapshot(gpu.kfd, child.pid, NEW_MASK, &entry, &n), 0);
	CHECK_IS(n, 1);
	CHECK_IS(entry.exception_status, NEW_MASK);
	hear(child.from);
	CHECK(hears(events[0], 5000)); /* one event only, because the creation itself raises none */
	CHECK(!hears(events[0], 20));
	CHECK_IS(dbg_suspend(gpu.kfd, child.pid, &id, 1, 0), 0);
	CHECK_IS(id, KFDABI_QUEUE_INVALID);
	CHECK_IS(trap_snapshot(gpu.kfd, child.pid, NEW_MASK, &entry, &n), 0);
	CHECK_IS(entry.exception_status, NEW_MASK);
	id = 0;
	CHECK_IS(dbg_suspend(gpu.kfd, child.pid, &id, 1, 0), 1);
	CHECK_IS(trap_disable(gpu.kfd, child.pid), 0);
	notify(child.to);
	CHECK_IS(child_end(&child), 0);
	return 0;
}
