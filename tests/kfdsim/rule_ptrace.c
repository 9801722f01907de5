// SPDX-License-Identifier: MIT
/* Linux before 6.12.103: the calling thread must trace the lead thread of the
 * target, and no other thread of the same program will do; on oneself no
 * tracing is needed; DISABLE is open to all. */
#include <pthread.h>
#include <unistd.h>

#include "conform/lab.h"

static struct gpu_file gpu;
static pid_t target;

static void body(int from, int to)
{
	struct gpu_file own;

	gpu_open(&own);
	CHECK_IS(runtime_enable(&own, KFDABI_RUNTIME_MODE_ENABLE), 0);
	tell(to);
	hear(from);
}

static void *other_thread(void *none)
{
	struct kfdabi_runtime_info info;
	uint32_t n = 0;

	CHECK_IS(trap_enable(gpu.kfd, target, 0, 1, &info), -EPERM);
	CHECK_IS(trap_snapshot(gpu.kfd, target, 0, NULL, &n), -EPERM);
	return none;
}

int main(void)
{
	struct kfdabi_runtime_info info;
	struct child child;
	pthread_t thread;
	uint32_t n = 0;

	gpu_open(&gpu);
	child_start(&child, body);
	hear(child.from);
	target = child.pid;
	CHECK_IS(trap_enable(gpu.kfd, target, 0, 1, &info), -EPERM);
	seize(target);
	CHECK_IS(pthread_create(&thread, NULL, other_thread, NULL), 0);
	CHECK_IS(pthread_join(thread, NULL), 0);
	CHECK_IS(trap_snapshot(gpu.kfd, target, 0, NULL, &n), -EINVAL); /* no session yet */
	CHECK_IS(trap_enable(gpu.kfd, target, 0, 1, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
	CHECK_IS(info.r_debug, 0x1234000);
	CHECK_IS(trap_enable(gpu.kfd, target, 0, 1, &info), -EALREADY);
	CHECK_IS(trap_snapshot(gpu.kfd, target, 0, NULL, &n), 0);
	CHECK_IS(trap_disable(gpu.kfd, target), 0);
	CHECK_IS(trap_disable(gpu.kfd, target), -EINVAL);

	/* On oneself. */
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_DISABLED);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), -EALREADY);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 99, &info), -EBADF);

	CHECK_IS(trap_enable(gpu.kfd, 99999, 0, 1, &info), -ESRCH);
	tell(child.to);
	CHECK_IS(child_end(&child), 0);
	CHECK_IS(trap_disable(gpu.kfd, target), -ESRCH);
	return 0;
}
