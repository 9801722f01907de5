// SPDX-License-Identifier: MIT
/* Proves: the time scale slows the GPU but not its clock. A kernel of 20 ms takes 200 ms at scale
 * 0.1, by its time stamps and by the CPU's clock. Run with --time-scale 0.1 and unknown_kernel_us =
 * 20000. */
#include "common/clock.h"
#include "tools/kfdconform/harness/harness.h"

int main(void)
{
	struct raw_queue queue;
	struct signal *signal;
	struct gpu_file gpu;
	uint64_t start;

	gpu_open(&gpu);
	signal = signals_new(&gpu);
	queue_new(&gpu, &queue);
	/* The first kernel can start before its doorbell, because the driver reads the write
	 * pointer when it maps the queue. Therefore the second one is measured. */
	for (int i = 0; i < 2; i++) {
		signal->value = 1;
		queue_dispatch(&queue, 1, signal);
		start = clock_ns();
		queue_ring(&queue);
		CHECK(comes(&signal->value, 0, 2000));
	}
	CHECK(clock_ns() - start >= 200000000);
	CHECK(signal->end_ts - signal->start_ts >= 19999900);
	CHECK(signal->end_ts - signal->start_ts < 20100000);
	return 0;
}
