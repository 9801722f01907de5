// SPDX-License-Identifier: MIT
/* Where the read pointer of an AQL queue stands while a kernel runs: before it,
 * or (rptr_at_consumption=1, argument "consumption") behind it, with its slot
 * free. Run with unknown_kernel_us = 100000. */
#include <string.h>

#include "conform/lab.h"

static uint16_t slot_type(const struct raw_queue *queue, unsigned slot)
{
	return ((volatile uint16_t *)queue->ring.cpu)[32 * slot] & 0xff;
}

int main(int argc, char **argv)
{
	bool consumption = argc > 1 && !strcmp(argv[1], "consumption");
	struct signal *signals;
	struct raw_queue queue;
	struct gpu_file gpu;

	gpu_open(&gpu);
	signals = signals_new(&gpu);
	queue_new(&gpu, &queue);
	for (int i = 0; i < 4; i++)
		signals[i].value = 1;

	queue_dispatch(&queue, 1, &signals[0]);
	queue_ring(&queue);
	sleep_ms(40);
	CHECK_IS(signals[0].value, 1); /* it runs */
	CHECK_IS(*queue_rptr(&queue), consumption ? 1 : 0);
	CHECK_IS(slot_type(&queue, 0), consumption ? 1 : 2);
	CHECK(comes(&signals[0].value, 0, 1000));
	CHECK_IS(*queue_rptr(&queue), 1);
	CHECK_IS(slot_type(&queue, 0), 1);

	/* A barrier holds it either way, and so does a kernel behind one. */
	queue_barrier(&queue, &signals[1], &signals[2]);
	queue_dispatch(&queue, 1, &signals[3]);
	queue_ring(&queue);
	CHECK(!comes(&signals[2].value, 0, 40));
	CHECK_IS(*queue_rptr(&queue), 1);
	__atomic_store_n(&signals[1].value, 0, __ATOMIC_RELEASE);
	CHECK(comes(&signals[2].value, 0, 500));
	sleep_ms(40);
	CHECK_IS(signals[3].value, 1);
	CHECK_IS(*queue_rptr(&queue), consumption ? 3 : 2);
	CHECK(comes(&signals[3].value, 0, 1000));
	CHECK_IS(*queue_rptr(&queue), 3);
	return 0;
}
