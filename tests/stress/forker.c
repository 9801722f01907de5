// SPDX-License-Identifier: MIT
/*
 * Proves that the device behaves correctly across fork and exec: a forked child cannot use the file
 * descriptors that its parent has opened, can open the device itself, and loses its state at exec.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

static int version(int kfd)
{
	struct kfd_ioctl_get_version_args a;

	return harness_ioctl(kfd, KFDABI_GET_VERSION, &a, sizeof a);
}

static void some_work(const struct gpu_file *gpu)
{
	struct raw_queue queue;
	struct signal *signals;

	signals = signals_new(gpu);
	queue_new(gpu, &queue);
	for (int i = 0; i < 8; i++) {
		signals[i].value = 1;
		queue_dispatch(&queue, 100, &signals[i]);
		queue_ring(&queue);
	}
	CHECK(comes(&signals[7].value, 0, 30000));
}

static void open_and_work(void)
{
	struct gpu_file gpu;

	gpu_open(&gpu);
	some_work(&gpu);
}

int main(int argc, char **argv)
{
	struct gpu_file gpu;
	int status;
	pid_t pid;

	(void)argc;
	if (argv[1] && !strcmp(argv[1], "again")) {
		open_and_work();
		return 0;
	}
	gpu_open(&gpu);
	CHECK_IS(version(gpu.kfd), 0);
	for (int i = 0; i < 4; i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			CHECK_IS(version(gpu.kfd), -EBADF);
			if (i & 1)
				execl("/proc/self/exe", argv[0], "again", NULL);
			open_and_work();
			_exit(0);
		}
	}
	some_work(&gpu);
	while ((pid = wait(&status)) > 0)
		CHECK_IS(status, 0);
	return 0;
}
