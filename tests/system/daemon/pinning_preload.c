// SPDX-License-Identifier: MIT
/*
 * Preloaded into a GPU program: while a file named PINNING exists, a thread allocates memory from
 * its own pages on the first GPU, repeatedly with a short pause, so that it holds the process's
 * mutex in the driver most of the time (kfdsim --set pin_us).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kfd/uapi.h"

#define BYTES 2097152u
#define PAUSE_US 200 /* between two allocations */

static uint32_t first_gpu(void)
{
	FILE *f = popen("cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id", "re");
	unsigned id = 0;

	while (f && id == 0 && fscanf(f, "%u", &id) == 1)
		;
	if (f)
		pclose(f);
	return id;
}

static void pin(int fd, uint32_t gpu_id, void *page)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args args = {
		.va_addr = (uintptr_t)page,
		.size = BYTES,
		.mmap_offset = (uintptr_t)page,
		.gpu_id = gpu_id,
		.flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE,
	};
	struct kfd_ioctl_free_memory_of_gpu_args back;

	if (ioctl(fd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &args) < 0)
		return; /* ROCr has not initialised the device yet */
	back = (struct kfd_ioctl_free_memory_of_gpu_args){.handle = args.handle};
	ioctl(fd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &back);
}

static void *run(void *name)
{
	void *page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
	uint32_t gpu_id = first_gpu();

	for (;;) {
		if (access(name, F_OK) == 0)
			pin(fd, gpu_id, page);
		usleep(PAUSE_US);
	}
	return page;
}

__attribute__((constructor)) static void begin(void)
{
	char *name = getenv("PINNING");
	pthread_t thread;

	unsetenv("LD_PRELOAD"); /* not for the programs that it starts */
	if (name && pthread_create(&thread, NULL, run, name) == 0)
		pthread_detach(thread);
}
