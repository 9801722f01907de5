// SPDX-License-Identifier: MIT
/* CREATE_PROCESS: secondary contexts. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/scripted_child.h"

#define DOORBELL_PAGE 8192u

static struct gpu_file context;

static int create_process(int fd)
{
	return harness_ioctl(fd, KFDABI_CREATE_PROCESS, NULL, 0);
}

/* Opens /dev/kfd as a secondary context with a GPU. */
static void open_context(struct gpu_file *out)
{
	gpu_open_without_vm(out);
	CHECK_IS(create_process(out->kfd), 0);
	gpu_acquire_vm(out);
}

RULE_IS(create_process_is_enotty, gpu_open(&gpu), create_process(gpu.kfd), -ENOTTY)

RULE_CHECK(context_has_own_queue_ids, gpu_open(&gpu))
{
	struct raw_queue one, two;

	queue_new(&gpu, &one);
	CHECK_IS(one.id, 0);
	open_context(&context);
	queue_new(&context, &two);
	CHECK_IS(two.id, 0);
	CHECK_IS(queue_destroy(&context, 0), 0);
	CHECK_IS(queue_destroy(&context, 0), -EINVAL);
	CHECK_IS(queue_destroy(&gpu, 0), 0); /* the queue of the primary context */
}

RULE_CHECK(context_of_a_context_is_einval, gpu_open(&gpu))
{
	CHECK_IS(create_process(gpu.kfd), 0);
	CHECK_IS(create_process(gpu.kfd), -EINVAL);
}

RULE_CHECK(context_cannot_debug, gpu_open(&gpu))
{
	struct kfdabi_runtime_info info;

	open_context(&context);
	CHECK_IS(trap_enable(context.kfd, getpid(), 0, STDERR_FILENO, &info), -EOPNOTSUPP);
	CHECK_IS(trap_disable(context.kfd, 0x3ffffff0), -EOPNOTSUPP);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
}

RULE_CHECK(context_is_not_debugged, gpu_open(&gpu))
{
	struct kfdabi_runtime_info info;
	struct raw_queue queues[3];
	uint32_t n = 0;

	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	queue_new(&gpu, &queues[0]);
	open_context(&context);
	queue_new(&context, &queues[1]);
	queue_new(&context, &queues[2]);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
	CHECK_IS(trap_snapshot(gpu.kfd, getpid(), 0, NULL, &n), 0);
	CHECK_IS(n, 1);
}

RULE_CHECK(proc_context_has_a_folder, gpu_open(&gpu))
{
	struct gpu_file contexts[2];
	struct raw_queue queue;

	if (access(proc_path(getpid(), "queues"), F_OK))
		SKIP("kfd/proc does not show this process: another pid namespace");
	for (unsigned i = 0; i < 2; i++) {
		open_context(&contexts[i]);
		queue_new(&contexts[i], &queue);
		CHECK(!access(proc_path(getpid(), "context_%u/queues/%u/type", i, queue.id), F_OK));
	}
	/* not among the queues of the primary context */
	CHECK(access(proc_path(getpid(), "queues/%u", queue.id), F_OK));
}

RULE_CHECK(context_ends_with_descriptor, gpu_open(&gpu))
{
	struct raw_queue queue;

	queue_new(&gpu, &queue);
	open_context(&context);
	queue_new(&context, &queue);
	if (access(proc_path(getpid(), "queues/0"), F_OK))
		SKIP("kfd/proc does not show this process: another pid namespace");
	CHECK(!access(proc_path(getpid(), "context_0"), F_OK));
	/* The mapping of the doorbells holds a reference to the file as well. */
	CHECK(!munmap((void *)((uintptr_t)queue.doorbell & ~(uintptr_t)(DOORBELL_PAGE - 1)),
		      DOORBELL_PAGE));
	CHECK(!close(context.kfd));
	CHECK(WITHIN(2000, access(proc_path(getpid(), "context_0"), F_OK)));
	CHECK_IS(queue_destroy(&gpu, 0), 0);
}
