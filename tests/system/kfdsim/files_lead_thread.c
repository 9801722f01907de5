// SPDX-License-Identifier: MIT
/*
 * Proves: if a thread other than the first one is the first to use the device, kfd/proc still shows
 * the PID of the process (kfd_create_process() uses thread->group_leader).
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

static struct gpu_file gpu;
static pid_t tid;

static bool listed(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/sys/class/kfd/kfd/proc/%d/queues", pid);
	return !access(path, F_OK);
}

static void *open_device(void *arg)
{
	tid = (pid_t)syscall(SYS_gettid);
	gpu_open(&gpu);
	CHECK(listed(getpid()));
	CHECK(!listed(tid));
	return arg;
}

int main(void)
{
	struct raw_queue queue;
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, open_device, NULL));
	CHECK(!pthread_join(thread, NULL));
	CHECK(tid != getpid());
	queue_new(&gpu, &queue);
	CHECK(listed(getpid()));
	CHECK(!listed(tid));
	return 0;
}
