// SPDX-License-Identifier: MIT
/* Proves the packet processor: order, barriers on signals, invalid headers, the bookkeeping of the
 * ring, time stamps, errors. Run with unknown_kernel_us = 2000. */
#include <string.h>

#include "tools/kfdconform/harness/harness.h"

#define LATE_MS 10000u /* for events that must come, because the machine can stall */

static uint64_t gpu_clock(const struct gpu_file *gpu)
{
	struct kfd_ioctl_get_clock_counters_args a = {.gpu_id = gpu->gpu_id};

	CHECK_IS(harness_ioctl(gpu->kfd, KFDABI_GET_CLOCK_COUNTERS, &a, sizeof a), 0);
	return a.gpu_clock_counter;
}

int main(void)
{
	struct raw_queue queue, raw;
	struct signal *signals, *inactive;
	struct gpu_file gpu;
	uint64_t before, after, pointer;

	gpu_open(&gpu);
	signals = signals_new(&gpu);
	queue_new(&gpu, &queue);
	for (int i = 0; i < 16; i++)
		signals[i].value = 1;

	/* The time stamps lie between two reads of the counter, and their difference is the length
	 * of the kernel (100 MHz). */
	before = gpu_clock(&gpu);
	queue_dispatch(&queue, 1, &signals[0]);
	queue_ring(&queue);
	CHECK(comes(&signals[0].value, 0, LATE_MS));
	after = gpu_clock(&gpu);
	CHECK(before <= signals[0].start_ts && signals[0].end_ts <= after);
	CHECK(signals[0].end_ts - signals[0].start_ts >= 200000);
	CHECK_IS(*queue_rptr(&queue), 1);
	CHECK_IS(*(uint16_t *)queue.ring.cpu, 1); /* the slot is free again */

	/* A barrier holds the packets behind it until its signal is 0. */
	queue_barrier(&queue, &signals[1], &signals[2]);
	queue_dispatch(&queue, 1, &signals[3]);
	queue_ring(&queue);
	CHECK(!comes(&signals[2].value, 0, 100));
	CHECK_IS(*queue_rptr(&queue), 1);
	__atomic_store_n(&signals[1].value, 0, __ATOMIC_RELEASE);
	CHECK(comes(&signals[2].value, 0, LATE_MS));
	CHECK(comes(&signals[3].value, 0, LATE_MS));
	CHECK(signals[3].start_ts >= signals[2].end_ts);

	/* The doorbell may be ahead of a packet whose header is not written yet. */
	{
		uint16_t *late;

		queue_dispatch(&queue, 1, &signals[4]);
		late = (uint16_t *)((char *)queue.ring.cpu +
				    (queue.written - 1) % RING_PACKETS * 64);
		pointer = *late;
		*late = 1;
		queue_ring(&queue);
		CHECK(!comes(&signals[4].value, 0, 50));
		__atomic_store_n(late, (uint16_t)pointer, __ATOMIC_RELEASE);
		CHECK(comes(&signals[4].value, 0, LATE_MS));
	}

	/* More packets than the ring has slots. */
	signals[5].value = 200;
	for (unsigned i = 0; i < 200; i++) {
		while (queue.written - *queue_rptr(&queue) >= RING_PACKETS)
			sleep_ms(1);
		queue_barrier(&queue, NULL, &signals[5]);
		queue_ring(&queue);
	}
	CHECK(comes(&signals[5].value, 0, LATE_MS));

	/* An invalid packet stops the queue and is reported in the queue's inactive signal
	 * (amd_queue_t, at offset 192). */
	queue_new(&gpu, &raw);
	inactive = &signals[6];
	inactive->value = 0;
	pointer = (uint64_t)(uintptr_t)inactive;
	memcpy((char *)raw.pointers[1].cpu + 192, &pointer, sizeof pointer);
	queue_dispatch(&raw, 1, &signals[7]);
	memset(queue_packet(&raw), 0, 64);
	*(uint16_t *)((char *)raw.ring.cpu + 64) = 77;
	queue_ring(&raw);
	CHECK(comes(&signals[7].value, 0, LATE_MS)); /* packets before it are completed */
	CHECK(comes(&inactive->value, 32, LATE_MS));
	queue_dispatch(&raw, 1, &signals[8]);
	queue_ring(&raw);
	CHECK(!comes(&signals[8].value, 0, 50));
	CHECK_IS(queue_destroy(&gpu, raw.id), 0);
	return 0;
}
