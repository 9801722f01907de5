// SPDX-License-Identifier: MIT
/* Checks of which process can use an open /dev/kfd: fork, exec, threads, duplicated and passed file
 * descriptors. Also checks of CREATE_PROCESS, which creates secondary contexts. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd_pass.h"
#include "tools/kfdconform/checks.h"

static struct gpu_file own;

static struct raw_queue queue;

/* The parent's device, whose file descriptor the children inherit. */
static struct gpu_file parents;

static void uses_the_parents(void)
{
	char data[8] = {0};

	CHECK_IS(harness_version(parents.kfd), -EBADF);
	CHECK_IS(harness_ioctl(parents.kfd, KFDABI_DESTROY_QUEUE, data, 8), -EBADF);
	/* The inherited file descriptor stays unusable when the process has opened /dev/kfd
	 * itself. */
	CHECK_IS(harness_version(device_open()), 0);
	CHECK_IS(harness_version(parents.kfd), -EBADF);
}

static RULE_CHECK(inherited_descriptor_is_ebadf, gpu_open(&parents))
{
	CHECK_IS(run_in_child(uses_the_parents), 0);
	CHECK_IS(harness_version(parents.kfd), 0);
}

void check_unused_inherited_descriptor_is_ebadf(void)
{
	parents.kfd = device_open();
	CHECK_IS(run_in_child(uses_the_parents), 0);
	CHECK_IS(harness_version(parents.kfd), 0);
}

static void unknown_number(void)
{
	char data[8] = {0};

	CHECK_IS(harness_ioctl(parents.kfd, 0x7f, data, 8), -ENOTTY);
}

RULE_IS(ebadf_comes_after_enotty, gpu_open(&parents), run_in_child(unknown_number), 0)

static void unreadable(void)
{
	CHECK_IS(harness_ioctl(parents.kfd, KFDABI_DESTROY_QUEUE, NULL, 8), -EBADF);
}

RULE_IS(ebadf_comes_before_efault, gpu_open(&parents), run_in_child(unreadable), 0)

static int sockets[2];

static void sends_its_own(int from, int to)
{
	int fd = device_open();

	(void)to;
	CHECK_IS(harness_version(fd), 0);
	CHECK_IS(fd_send(sockets[1], fd), 0);
	hear(from); /* stay alive until the other process has used the fd */
}

void check_passed_descriptor_is_ebadf(void)
{
	struct child child;
	int fd;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	child_begin(&child, sends_its_own);
	fd = fd_receive(sockets[0]);
	CHECK(fd >= 0);
	CHECK_IS(harness_version(fd), -EBADF);
	CHECK_IS(harness_version(device_open()), 0);
	CHECK_IS(harness_version(fd), -EBADF);
	notify(child.to);
	CHECK_IS(child_end(&child), 0);
}

static int borrowed[2];

/* Body of a child that shares the memory of its parent (vfork()). */
static int in_borrowed_memory(void *arg)
{
	int fd;

	(void)arg;
	borrowed[0] = harness_version(parents.kfd);
	fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	borrowed[1] = fd < 0 ? -EBADF : harness_version(fd); /* newer drivers refuse to open */
	return 0;
}

void check_vfork_child_is_ebadf(void)
{
	static _Alignas(16) char stack[65536];
	int status;
	pid_t pid;

	gpu_open(&parents);
	CHECK_IS(harness_version(parents.kfd), 0);
	pid = clone(in_borrowed_memory, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
		    NULL);
	CHECK(pid > 0);
	CHECK_IS(waitpid(pid, &status, 0), pid);
	CHECK_IS(borrowed[0], -EBADF);
	CHECK_IS(borrowed[1], -EBADF);
	CHECK_IS(harness_version(parents.kfd), 0);
}

static void makes_a_queue(void)
{
	gpu_open(&own);
	CHECK_IS(queue_destroy(&own, 0), -EINVAL);
	queue_new(&own, &queue);
	CHECK_IS(queue.id, 0);
	CHECK_IS(queue_destroy(&own, 0), 0);
	/* The number of the inherited file descriptor works once it refers to a file that the
	 * process has opened itself. */
	CHECK_IS(dup2(own.kfd, parents.kfd), parents.kfd);
	CHECK_IS(harness_version(parents.kfd), 0);
}

static RULE_CHECK(forked_child_is_a_process_of_its_own, gpu_open(&parents))
{
	queue_new(&parents, &queue);
	CHECK_IS(run_in_child(makes_a_queue), 0);
	CHECK_IS(queue_destroy(&parents, queue.id), 0);
}

#define AFTER_EXEC "KFDCONFORM_AFTER_EXEC"

static void after_exec(void)
{
	gpu_open(&own);
	CHECK_IS(queue_destroy(&own, 0), -EINVAL);
	queue_new(&own, &queue);
	CHECK_IS(queue.id, 0);
}

/* Does not use the file descriptor that stays open over exec. The driver compares tasks, so this
 * file descriptor may still belong to the old process. */
void check_exec_begins_anew(void)
{
	if (getenv(AFTER_EXEC)) {
		after_exec();
		return;
	}
	gpu_open(&parents);
	queue_new(&parents, &queue);
	CHECK_IS(queue.id, 0);
	CHECK(!fcntl(parents.kfd, F_SETFD, 0));
	CHECK(!setenv(AFTER_EXEC, "1", 1));
	execl("/proc/self/exe", "kfdconform", "--here", "exec_begins_anew", (char *)NULL);
	CHECK(!"exec");
}

static RULE_CHECK(duplicated_descriptor_serves, gpu_open(&gpu))
{
	int copy = dup(gpu.kfd), far = fcntl(gpu.kfd, F_DUPFD_CLOEXEC, 100);

	CHECK(copy >= 0 && far >= 100);
	CHECK_IS(harness_version(copy), 0);
	queue_new(&gpu, &queue);
	close(gpu.kfd);
	gpu.kfd = far;
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
}

static void *in_thread(void *arg)
{
	CHECK_IS(harness_version(parents.kfd), 0);
	CHECK_IS(queue_destroy(&parents, queue.id), 0);
	queue_new(&parents, &queue);
	return arg;
}

static RULE_CHECK(threads_share_the_process, gpu_open(&parents))
{
	pthread_t thread;

	queue_new(&parents, &queue);
	CHECK(!pthread_create(&thread, NULL, in_thread, NULL));
	CHECK(!pthread_join(thread, NULL));
	CHECK_IS(queue.id, 0);
	CHECK_IS(queue_destroy(&parents, queue.id), 0);
}

static RULE_CHECK(descriptors_share_the_process, gpu_open(&gpu))
{
	struct raw_queue queues[2];
	struct gpu_file second;

	second = gpu;
	second.kfd = device_open();
	queue_new(&gpu, &queues[0]);
	queue_new(&second, &queues[1]);
	CHECK_IS(queues[1].id, queues[0].id + 1);
	CHECK_IS(queue_destroy(&second, queues[0].id), 0);
	CHECK_IS(queue_destroy(&gpu, queues[1].id), 0);
}

static RULE_CHECK(closing_ends_no_queue, gpu_open(&gpu))
{
	struct raw_queue next;

	queue_new(&gpu, &queue);
	close(gpu.kfd);
	gpu.kfd = device_open();
	queue_new(&gpu, &next);
	CHECK_IS(next.id, queue.id + 1);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
}

/* ---- CREATE_PROCESS ---- */

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

static RULE_CHECK(context_has_own_queue_ids, gpu_open(&gpu))
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

static RULE_CHECK(context_of_a_context_is_einval, gpu_open(&gpu))
{
	CHECK_IS(create_process(gpu.kfd), 0);
	CHECK_IS(create_process(gpu.kfd), -EINVAL);
}

static RULE_CHECK(context_cannot_debug, gpu_open(&gpu))
{
	struct kfdabi_runtime_info info;

	open_context(&context);
	CHECK_IS(trap_enable(context.kfd, getpid(), 0, STDERR_FILENO, &info), -EOPNOTSUPP);
	CHECK_IS(trap_disable(context.kfd, 0x3ffffff0), -EOPNOTSUPP);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
}

static RULE_CHECK(context_is_not_debugged, gpu_open(&gpu))
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

static RULE_CHECK(proc_context_has_a_folder, gpu_open(&gpu))
{
	struct gpu_file contexts[2];

	if (access(proc_path(getpid(), "queues"), F_OK))
		SKIP("kfd/proc does not show this process: another pid namespace");
	for (unsigned i = 0; i < 2; i++) {
		open_context(&contexts[i]);
		queue_new(&contexts[i], &queue);
		CHECK(!access(proc_path(getpid(), "context_%u/queues/%u/type", i, queue.id), F_OK));
	}
	/* The queue is not listed among those of the primary context. */
	CHECK(access(proc_path(getpid(), "queues/%u", queue.id), F_OK));
}

static RULE_CHECK(context_ends_with_descriptor, gpu_open(&gpu))
{
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
