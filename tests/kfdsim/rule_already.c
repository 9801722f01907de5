// SPDX-License-Identifier: MIT
/* A second ENABLE is refused, but the driver has noted its caller as the
 * debugger by then and forgotten the first: neither's death resumes the target
 * any more. DISABLE still does. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

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
	hear(from); /* suspended now */
	signals->value = 1;
	queue_dispatch(&queue, 1, signals);
	queue_ring(&queue);
	tell(to);
	CHECK(comes(&signals->value, 0, 10000));
	tell(to);
	hear(from);
}

static void first_body(int from, int to)
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
	CHECK(!ptrace(PTRACE_INTERRUPT, target, 0, 0));
	CHECK_IS(waitpid(target, NULL, __WALL), target);
	CHECK(!ptrace(PTRACE_DETACH, target, 0, 0));
	tell(to);
	hear(from);
}

static void second_body(int from, int to)
{
	struct kfdabi_runtime_info info;
	struct gpu_file gpu;

	gpu_open(&gpu);
	seize(target);
	CHECK_IS(trap_enable(gpu.kfd, target, 0, 1, &info), -EALREADY);
	tell(to);
	hear(from);
}

int main(void)
{
	struct child first, second, child;
	struct gpu_file gpu;

	gpu_open(&gpu);
	child_start(&child, target_body);
	hear(child.from);
	target = child.pid;
	child_start(&first, first_body);
	hear(first.from);
	child_start(&second, second_body);
	hear(second.from);
	tell(child.to);
	hear(child.from);
	CHECK(!kill(first.pid, SIGKILL));
	CHECK(WIFSIGNALED(child_end(&first)));
	CHECK(!hears(child.from, 100));
	CHECK(!kill(second.pid, SIGKILL));
	CHECK(WIFSIGNALED(child_end(&second)));
	CHECK(!hears(child.from, 100));
	CHECK_IS(trap_disable(gpu.kfd, target), 0); /* anybody may, before 6.12.103 */
	CHECK(hears(child.from, 1000));
	tell(child.to);
	CHECK_IS(child_end(&child), 0);
	return 0;
}
