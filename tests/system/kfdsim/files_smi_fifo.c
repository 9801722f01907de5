// SPDX-License-Identifier: MIT
/*
 * Proves: the buffer of an SMI descriptor is limited (1024 bytes by the rules of 6.12), an event
 * that does not fit is lost as a whole, and after a read there is room again. A closed descriptor
 * is released. A debugger takes the faults, so that the first fault does not evict the process.
 */
#include <string.h>
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

#define FIFO_BYTES 1024
#define FAULTS 70 /* about 20 bytes each */
#define BAD_ADDRESS 0x20000u
#define VIOLATION_MASK kfdabi_ec_mask(KFDABI_EC_DEVICE_MEMORY_VIOLATION)

static int smi_open(const struct gpu_file *gpu)
{
	struct kfd_ioctl_smi_events_args a = {.gpuid = gpu->gpu_id};
	uint64_t mask = 1; /* bit of VMFAULT */

	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_SMI_EVENTS, &a, sizeof a), 0);
	CHECK_IS(write((int)a.anon_fd, &mask, sizeof mask), sizeof mask);
	return (int)a.anon_fd;
}

static void fault(const struct gpu_file *gpu)
{
	static struct raw_queue queue;
	struct kfdabi_create_queue args;
	uint64_t written;

	queue_args(gpu, &queue, &args);
	CHECK_IS(queue_create(gpu, &queue, &args), 0);
	queue_barrier(&queue, NULL, (struct signal *)BAD_ADDRESS);
	queue_ring(&queue);
	written = queue.written;
	for (int i = 0; i < 100000 && *queue_rptr(&queue) != written; i++)
		usleep(100);
	CHECK_IS(*queue_rptr(&queue), written);
	CHECK_IS(queue_destroy(gpu, queue.id), 0);
	CHECK_IS(buffer_free(gpu, &queue.ring), 0);
	CHECK_IS(buffer_free(gpu, &queue.save), 0);
}

int main(void)
{
	char text[4 * FIFO_BYTES];
	ssize_t n, line, total = 0;
	struct kfdabi_runtime_info info;
	struct gpu_file gpu;
	int fd;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), VIOLATION_MASK, STDOUT_FILENO, &info), 0);
	fd = smi_open(&gpu);
	fault(&gpu);
	line = read(fd, text, sizeof text);
	CHECK(line > 0 && text[line - 1] == '\n');
	for (int i = 0; i < FAULTS; i++)
		fault(&gpu);
	while ((n = read(fd, text + total, sizeof text - (size_t)total)) > 0)
		total += n;
	CHECK_IS(errno, EAGAIN);
	CHECK_IS(total, FIFO_BYTES / line * line);
	CHECK(text[total - 1] == '\n');
	fault(&gpu);
	CHECK_IS(read(fd, text, sizeof text), line);
	for (int i = 0; i < 2000; i++)
		close(smi_open(&gpu));
	return 0;
}
