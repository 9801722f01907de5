// SPDX-License-Identifier: MIT
/*
 * A program without a runtime and without the shim that has AQL queues and asks the driver for
 * their errors, as ROCr does: by an address and an event in the header of each save area. It
 * executes the commands on standard input, one a line, and prints "done" after each; at first it
 * prints "ready".
 *
 *   queue    creates another queue
 *   bad N    submits a dispatch without dimensions to queue N, at which the packet processor stops
 *            the queue, and waits until the driver has reported the error
 */
#include <string.h>

#include "tools/kfdconform/harness/harness.h"

#define QUEUES 4u
/* Offsets in the runtime's part of the save area's header. */
#define SAVE_ERROR_ADDRESS 24u
#define SAVE_ERROR_EVENT 32u
#define LATE_MS 10000u

static struct gpu_file gpu;
static struct raw_queue queues[QUEUES];
static unsigned count;
static struct signal *signals; /* one for the errors of each queue */
static uint32_t event_id;

static void add_queue(void)
{
	uint64_t address = (uintptr_t)&signals[count].value;
	char *save;

	CHECK(count < QUEUES);
	queue_new(&gpu, &queues[count]);
	save = queues[count].save.cpu;
	memcpy(save + SAVE_ERROR_ADDRESS, &address, sizeof(address));
	memcpy(save + SAVE_ERROR_EVENT, &event_id, sizeof(event_id));
	count++;
}

static void submit_bad_packet(unsigned number)
{
	const uint32_t packet[16] = {2 | 1u << 8}; /* a dispatch with 0 dimensions */

	CHECK(number < count);
	queue_publish(&queues[number], packet);
	queue_ring(&queues[number]);
	for (unsigned ms = 0; ms < LATE_MS && !signals[number].value; ms++)
		sleep_ms(1);
	CHECK(signals[number].value);
}

int main(void)
{
	struct kfd_ioctl_create_event_args event = {.event_type = KFD_IOC_EVENT_SIGNAL};
	char line[32];
	unsigned number;

	setvbuf(stdout, NULL, _IOLBF, 0);
	gpu_open(&gpu);
	signals = signals_new(&gpu);
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_CREATE_EVENT, &event, sizeof(event)), 0);
	event_id = event.event_id;
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0); /* before the first queue */
	add_queue();
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "bad %u", &number) == 1)
			submit_bad_packet(number);
		else
			add_queue();
		puts("done");
	}
	return 0;
}
