// SPDX-License-Identifier: MIT
/* Which process can use an open /dev/kfd: fork, exec, threads, duplicated and passed
 * file descriptors. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd_pass.h"
#include "tools/kfdconform/checks.h"

static struct gpu_file first;
static struct gpu_file own;

static struct raw_queue queue;

/* The parent's device, whose file descriptor the children inherit. */
static struct gpu_file parents;

static void uses_the_parents(void)
{
	char data[8] = {0};

	CHECK_IS(harness_version(parents.kfd), -EBADF);
	CHECK_IS(harness_ioctl(parents.kfd, KFDABI_DESTROY_QUEUE, data, 8), -EBADF);
	/* A file descriptor of its own does not change that. */
	CHECK_IS(harness_version(device_open()), 0);
	CHECK_IS(harness_version(parents.kfd), -EBADF);
}

RULE_CHECK(inherited_descriptor_is_ebadf, gpu_open(&parents))
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
	hear(from); /* stay alive until the other process has tried */
}

void check_passed_descriptor_is_ebadf(void)
{
	struct child child;
	int fd;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	child_start(&child, sends_its_own);
	fd = fd_receive(sockets[0]);
	CHECK(fd >= 0);
	CHECK_IS(harness_version(fd), -EBADF);
	CHECK_IS(harness_version(device_open()), 0);
	CHECK_IS(harness_version(fd), -EBADF);
	notify(child.to);
	CHECK_IS(child_end(&child), 0);
}

static int borrowed[2];

/* Runs in a child that shares the memory of its parent (vfork()). */
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
	/* The number of a closed file descriptor works again when it belongs to the
	 * process's own file. */
	CHECK_IS(dup2(own.kfd, parents.kfd), parents.kfd);
	CHECK_IS(harness_version(parents.kfd), 0);
}

RULE_CHECK(forked_child_is_a_process_of_its_own, gpu_open(&parents))
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

/* The check does not use a file descriptor that stays open over exec: the driver compares tasks, so
 * that it may refer to the remains of the old process. */
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

RULE_CHECK(duplicated_descriptor_serves, gpu_open(&gpu))
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

RULE_CHECK(threads_share_the_process, gpu_open(&parents))
{
	pthread_t thread;

	queue_new(&parents, &queue);
	CHECK(!pthread_create(&thread, NULL, in_thread, NULL));
	CHECK(!pthread_join(thread, NULL));
	CHECK_IS(queue.id, 0);
	CHECK_IS(queue_destroy(&parents, queue.id), 0);
}

RULE_CHECK(descriptors_share_the_process, gpu_open(&first))
{
	struct raw_queue queues[2];
	struct gpu_file second;

	second = first;
	second.kfd = device_open();
	queue_new(&first, &queues[0]);
	queue_new(&second, &queues[1]);
	CHECK_IS(queues[1].id, queues[0].id + 1);
	CHECK_IS(queue_destroy(&second, queues[0].id), 0);
	CHECK_IS(queue_destroy(&first, queues[1].id), 0);
}

RULE_CHECK(closing_ends_no_queue, gpu_open(&gpu))
{
	struct raw_queue next;

	queue_new(&gpu, &queue);
	close(gpu.kfd);
	gpu.kfd = device_open();
	queue_new(&gpu, &next);
	CHECK_IS(next.id, queue.id + 1);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
}
