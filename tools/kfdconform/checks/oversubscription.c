// SPDX-License-Identifier: MIT
/* More compute queues than the node has slots. */
#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/harness.h"

#define MORE 2u
#define QUEUES_MAX 120u /* fewer than the limit of a process */
#define LATE_MS 4000u

void check_oversubscribed_queues_all_run(void)
{
	static struct raw_queue queues[QUEUES_MAX];
	struct signal *signals;
	struct gpu_file gpu;
	uint32_t n;

	gpu_open(&gpu);
	n = gpu.shape.cp_queues + MORE;
	if (n > QUEUES_MAX)
		SKIP("this GPU has more slots than a process is given queues here");
	signals = signals_new(&gpu);
	for (uint32_t i = 0; i < n; i++) {
		queue_new(&gpu, &queues[i]);
		signals[i % 64].value++;
		queue_barrier(&queues[i], NULL, &signals[i % 64]);
	}
	for (uint32_t i = 0; i < n; i++)
		queue_ring(&queues[i]);
	for (uint32_t i = 0; i < n; i++)
		CHECK(comes(&signals[i % 64].value, 0, LATE_MS));
}
