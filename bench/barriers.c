// SPDX-License-Identifier: MIT
/*
 * Barrier packets through one queue of the real runtime, as fast as the ring
 * takes them: one thread writes whenever there is room and rings once a batch.
 * The time is from the first packet to the last one's completion signal.
 */
#include "bench/figures.h"
#include "bench/gpu.h"
#include "common/clock.h"

#define RING 16384u /* what HIP asks for */
#define PACKETS 400000u
#define BATCH 64u
#define ROUNDS 7

static double run(hsa_queue_t *queue, hsa_signal_t done)
{
	const hsa_signal_t none = {0};
	uint64_t start = clock_ns();

	hsa_signal_store_relaxed(done, 1);
	for (uint64_t written = 0; written < PACKETS; written += BATCH) {
		uint64_t at = hsa_queue_add_write_index_relaxed(queue, BATCH);

		while (at + BATCH > hsa_queue_load_read_index_scacquire(queue) + queue->size)
			;
		for (uint64_t i = at; i < at + BATCH; i++)
			gpu_barrier(queue, i, none,
				    i == at + BATCH - 1 && written + BATCH >= PACKETS ? done
										      : none);
		hsa_signal_store_screlease(queue->doorbell_signal,
					   (hsa_signal_value_t)(at + BATCH - 1));
	}
	hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
				  HSA_WAIT_STATE_ACTIVE);
	return PACKETS * 1e9 / (double)(clock_ns() - start);
}

int main(void)
{
	double rates[ROUNDS];
	struct bench bench;
	hsa_signal_t done;
	hsa_queue_t *queue;

	_Static_assert(PACKETS % BATCH == 0, "whole batches");
	gpu_must(hsa_init(), "hsa_init");
	queue = gpu_queue(gpu_first(), RING);
	gpu_must(hsa_signal_create(1, 0, NULL, &done), "hsa_signal_create");
	for (int i = 0; i < ROUNDS; i++)
		rates[i] = run(queue, done);
	gpu_must(hsa_signal_destroy(done), "hsa_signal_destroy");
	gpu_must(hsa_queue_destroy(queue), "hsa_queue_destroy");
	gpu_must(hsa_shut_down(), "hsa_shut_down");

	bench_begin(&bench, "barriers", "Barrier packets through one queue");
	bench_figure(&bench, "barrier packets a second, median of 7 runs",
		     bench_median(rates, ROUNDS), "packets/s", "at_least", 250000);
	bench_series(&bench, "a run of 400,000 packets", "packets/s", rates, ROUNDS);
	return bench_end(&bench);
}
