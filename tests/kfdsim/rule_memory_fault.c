// SPDX-License-Identifier: MIT
/* A GPU access where no buffer is: the queue stops, the memory event tells
 * where, and the process's other queues go on. */
#include <string.h>

#include "conform/lab.h"

int main(void)
{
	struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_MEMORY};
	struct kfd_ioctl_wait_events_args wait = {.num_events = 1, .timeout = 2000};
	struct kfd_event_data data = {0};
	struct raw_queue bad, good;
	struct signal *signals;
	struct gpu_file gpu;

	gpu_open(&gpu);
	signals = signals_new(&gpu);
	signals[0].value = 1;
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &event, sizeof event), 0);
	queue_new(&gpu, &bad);
	queue_new(&gpu, &good);
	queue_barrier(&bad, NULL, (struct signal *)0x20000);
	queue_ring(&bad);
	data.event_id = event.event_id;
	wait.events_ptr = (uint64_t)(uintptr_t)&data;
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_WAIT_EVENTS, &wait, sizeof wait), 0);
	CHECK_IS(wait.wait_result, KFD_IOC_WAIT_RESULT_COMPLETE);
	CHECK_IS(data.memory_exception_data.va, 0x20000);
	CHECK_IS(data.memory_exception_data.gpu_id, gpu.gpu_id);
	CHECK_IS(data.memory_exception_data.failure.NotPresent, 1);
	queue_barrier(&good, NULL, &signals[0]);
	queue_ring(&good);
	CHECK(comes(&signals[0].value, 0, 500));
	return 0;
}
