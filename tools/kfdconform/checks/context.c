// SPDX-License-Identifier: MIT
/* CREATE_PROCESS: secondary contexts. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/scripted_child.h"

#define DOORBELL_PAGE 8192u
#define DIR "/sys/class/kfd/kfd/proc"

static struct gpu_file context;

static struct gpu_file own;

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

RULE_CHECK(create_process_is_enotty, gpu_open(&own))
{
	CHECK_IS(create_process(own.kfd), -ENOTTY);
}

RULE_CHECK(context_has_own_queue_ids, gpu_open(&own))
{
	struct raw_queue one, two;

	queue_new(&own, &one);
	CHECK_IS(one.id, 0);
	open_context(&context);
	queue_new(&context, &two);
	CHECK_IS(two.id, 0);
	CHECK_IS(queue_destroy(&context, 0), 0);
	CHECK_IS(queue_destroy(&context, 0), -EINVAL);
	CHECK_IS(queue_destroy(&own, 0), 0); /* the queue of the primary context */
}

RULE_CHECK(context_of_a_context_is_einval, gpu_open(&own))
{
	CHECK_IS(create_process(own.kfd), 0);
	CHECK_IS(create_process(own.kfd), -EINVAL);
}

RULE_CHECK(context_cannot_debug, gpu_open(&own))
{
	struct kfdabi_runtime_info info;

	open_context(&context);
	CHECK_IS(trap_enable(context.kfd, getpid(), 0, STDERR_FILENO, &info), -EOPNOTSUPP);
	CHECK_IS(trap_disable(context.kfd, 0x3ffffff0), -EOPNOTSUPP);
	CHECK_IS(trap_enable(own.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
}

RULE_CHECK(context_is_not_debugged, gpu_open(&own))
{
	struct kfdabi_runtime_info info;
	struct raw_queue queues[3];
	uint32_t n = 0;

	CHECK_IS(runtime_enable(&own, KFDABI_RUNTIME_MODE_ENABLE), 0);
	queue_new(&own, &queues[0]);
	open_context(&context);
	queue_new(&context, &queues[1]);
	queue_new(&context, &queues[2]);
	CHECK_IS(trap_enable(own.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
	CHECK_IS(trap_snapshot(own.kfd, getpid(), 0, NULL, &n), 0);
	CHECK_IS(n, 1);
}

RULE_CHECK(proc_context_has_a_folder, gpu_open(&own))
{
	struct gpu_file contexts[2];
	struct raw_queue queue;
	char path[96];

	snprintf(path, sizeof path, DIR "/%d/queues", (int)getpid());
	if (access(path, F_OK))
		SKIP("kfd/proc does not show this process: another pid namespace");
	for (unsigned i = 0; i < 2; i++) {
		open_context(&contexts[i]);
		queue_new(&contexts[i], &queue);
		snprintf(path, sizeof path, DIR "/%d/context_%u/queues/%u/type", (int)getpid(), i,
			 queue.id);
		CHECK(!access(path, F_OK));
	}
	snprintf(path, sizeof path, DIR "/%d/queues/%u", (int)getpid(), queue.id);
	CHECK(access(path, F_OK)); /* not among the queues of the primary context */
}

RULE_CHECK(context_ends_with_descriptor, gpu_open(&own))
{
	struct raw_queue queue;
	char path[96];

	queue_new(&own, &queue);
	open_context(&context);
	queue_new(&context, &queue);
	snprintf(path, sizeof path, DIR "/%d/queues/0", (int)getpid());
	if (access(path, F_OK))
		SKIP("kfd/proc does not show this process: another pid namespace");
	snprintf(path, sizeof path, DIR "/%d/context_0", (int)getpid());
	CHECK(!access(path, F_OK));
	/* The mapping of the doorbells holds a reference to the file as well. */
	CHECK(!munmap((void *)((uintptr_t)queue.doorbell & ~(uintptr_t)(DOORBELL_PAGE - 1)),
		      DOORBELL_PAGE));
	CHECK(!close(context.kfd));
	CHECK(WITHIN(2000, access(path, F_OK)));
	CHECK_IS(queue_destroy(&own, 0), 0);
}
