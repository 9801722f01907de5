// SPDX-License-Identifier: MIT
/* Proves where the read pointer of an AQL queue is while a kernel runs: before its packet, or
 * (rptr_at_consumption=1, argument "consumption") behind it, with its slot free. Run with
 * unknown_kernel_us = 100000. */
#include <string.h>

#include "tools/kfdconform/harness/harness.h"

static uint16_t slot_type(const struct raw_queue *queue, unsigned slot)
{
	return ((volatile uint16_t *)queue->ring.cpu)[32 * slot] & 0xff;
}

static struct raw_queue queue;
static bool consumption;

/* Checks a kernel with this signal while it runs; its packet is number `nth` of the queue. Returns
 * false if the machine stalled and the kernel was over before it was checked. */
static bool seen_running(struct signal *signal, unsigned nth)
{
	uint64_t rptr;
	uint16_t type;

	sleep_ms(40);
	if (consumption)
		CHECK(comes((volatile int64_t *)queue_rptr(&queue), nth + 1, 5000));
	rptr = *queue_rptr(&queue);
	type = slot_type(&queue, nth);
	if (!signal->value)
		return false;
	CHECK_IS(rptr, consumption ? nth + 1 : nth);
	CHECK_IS(type, consumption ? 1 : 2);
	return true;
}

/* Plays the whole test from packet number `nth` on; it needs three packets. */
static bool run_round(struct signal *signals, unsigned nth)
{
	bool seen;

	for (int i = 0; i < 4; i++)
		signals[i].value = 1;
	queue_dispatch(&queue, 1, &signals[0]);
	queue_ring(&queue);
	seen = seen_running(&signals[0], nth);
	CHECK(comes(&signals[0].value, 0, 5000));
	CHECK_IS(*queue_rptr(&queue), nth + 1);
	CHECK_IS(slot_type(&queue, nth), 1);

	/* A barrier stops the read pointer in both modes, and so does a kernel behind a barrier. */
	queue_barrier(&queue, &signals[1], &signals[2]);
	queue_dispatch(&queue, 1, &signals[3]);
	queue_ring(&queue);
	CHECK(!comes(&signals[2].value, 0, 40));
	CHECK_IS(*queue_rptr(&queue), nth + 1);
	__atomic_store_n(&signals[1].value, 0, __ATOMIC_RELEASE);
	CHECK(comes(&signals[2].value, 0, 5000));
	seen &= seen_running(&signals[3], nth + 2);
	CHECK(comes(&signals[3].value, 0, 5000));
	CHECK_IS(*queue_rptr(&queue), nth + 3);
	return seen;
}

int main(int argc, char **argv)
{
	struct signal *signals;
	struct gpu_file gpu;
	unsigned nth = 0;

	consumption = argc > 1 && !strcmp(argv[1], "consumption");
	gpu_open(&gpu);
	signals = signals_new(&gpu);
	queue_new(&gpu, &queue);
	while (!run_round(signals, nth)) {
		nth += 3;
		/* the ring has 64 slots, and twenty stalls in a row are not expected */
		CHECK(nth < 60);
	}
	return 0;
}
