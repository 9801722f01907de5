// SPDX-License-Identifier: MIT
/* When the debugger dies, even by SIGKILL, its targets run again and the next
 * debugger may have a session; closing the device or detaching does nothing. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform/lab.h"

static pid_t target;

static void target_body(int from, int to)
{
	struct raw_queue queue;
	struct signal *signals;
	struct gpu_file gpu;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	signals = signals_new(&gpu);
	queue_new(&gpu, &queue);
	tell(to);
	for (int i = 0; i < 2; i++) {
		hear(from); /* suspended now */
		signals[i].value = 1;
		queue_dispatch(&queue, 1, &signals[i]);
		queue_ring(&queue);
		CHECK(!comes(&signals[i].value, 0, 100));
		tell(to);
		CHECK(comes(&signals[i].value, 0, 1000));
		tell(to);
	}
	hear(from);
}

static void debugger_body(int from, int to)
{
	struct kfdabi_queue_snapshot entry;
	struct kfdabi_runtime_info info;
	uint32_t n = 1, id = 0;
	struct gpu_file gpu;

	gpu_open(&gpu);
	seize(target);
	CHECK_IS(trap_enable(gpu.kfd, target, 0, 1, &info), 0);
	CHECK_IS(trap_snapshot(gpu.kfd, target, NEW_MASK, &entry, &n), 0);
	CHECK_IS(trap_suspend(gpu.kfd, target, &id, 1, 0), 1);
	close(gpu.kfd);
	tell(to);
	hear(from);
}

int main(void)
{
	struct child debugger, child;

	child_start(&child, target_body);
	hear(child.from);
	target = child.pid;
	for (int i = 0; i < 2; i++) {
		child_start(&debugger, debugger_body);
		hear(debugger.from);
		tell(child.to);
		hear(child.from); /* it stood still although the descriptor is closed */
		CHECK(!hears(child.from, 100));
		CHECK(!kill(debugger.pid, SIGKILL));
		CHECK(hears(child.from, 1000));
		CHECK(WIFSIGNALED(child_end(&debugger)));
	}
	tell(child.to);
	CHECK_IS(child_end(&child), 0);
	return 0;
}
