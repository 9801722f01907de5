// SPDX-License-Identifier: MIT
/* A descriptor serves the process that opened it: a child gets EBADF from the
 * inherited one, may open its own, and does not disturb its parent. After exec
 * an inherited descriptor serves nobody. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "conform/lab.h"

static struct gpu_file parents;

static void child(int from, int to)
{
	struct kfd_ioctl_get_version_args version = {0};
	struct gpu_file own;
	struct raw_queue queue;

	(void)from;
	(void)to;
	CHECK_IS(lab_ioctl(parents.kfd, KFDABI_GET_VERSION, &version, sizeof version), -EBADF);
	gpu_open(&own);
	CHECK_IS(lab_ioctl(own.kfd, KFDABI_GET_VERSION, &version, sizeof version), 0);
	queue_new(&own, &queue);
	CHECK_IS(queue.id, 0); /* ids are the process's own */
	CHECK_IS(lab_ioctl(parents.kfd, KFDABI_GET_VERSION, &version, sizeof version), -EBADF);
	/* The number of a closed descriptor serves again once reopened. */
	close(parents.kfd);
	CHECK_IS(dup2(own.kfd, parents.kfd), parents.kfd);
	CHECK_IS(lab_ioctl(parents.kfd, KFDABI_GET_VERSION, &version, sizeof version), 0);
}

int main(int argc, char **argv)
{
	struct kfd_ioctl_get_version_args version = {0};
	char number[16];
	struct raw_queue queue;
	struct child forked;

	if (argc > 1) {
		CHECK_IS(lab_ioctl(atoi(argv[1]), KFDABI_GET_VERSION, &version, sizeof version),
			 -EBADF);
		gpu_open(&parents);
		queue_new(&parents, &queue);
		CHECK_IS(queue.id, 0); /* the queues of before are gone */
		return 0;
	}
	gpu_open(&parents);
	queue_new(&parents, &queue);
	child_start(&forked, child);
	CHECK_IS(child_end(&forked), 0);
	CHECK_IS(lab_ioctl(parents.kfd, KFDABI_GET_VERSION, &version, sizeof version), 0);

	snprintf(number, sizeof number, "%d", parents.kfd);
	CHECK(!fcntl(parents.kfd, F_SETFD, 0));
	execl("/proc/self/exe", argv[0], number, (char *)NULL);
	return 1;
}
