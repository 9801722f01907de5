// SPDX-License-Identifier: MIT
/*
 * Measures the rate of barrier packets through one queue of the real runtime: one thread writes a
 * batch whenever there is room in the ring, and rings the doorbell once a batch. The floor,
 * measured alternately, is a thread that polls a ring of the same size as often as kfdsim does and
 * marks each packet as free.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/bench/gpu.h"
#include "tests/bench/report.h"

#define RING 16384u /* packets; HIP's size */
#define BATCH 64u
#define ROUNDS 9
/* ns; the two alternate and last equally long, so that other load on the machine affects both */
#define ITERATION_NS 200000000u
#define CHECK_US 20

/* The receiver of the packets. */
struct target {
	hsa_queue_t *queue; /* the runtime's queue; for the loop only the memory of a ring */
	bool bare;
	hsa_signal_t done;
	uint64_t wptr, rptr; /* of the loop; atomic */
	bool ending;
};

static uint64_t reserve(struct target *t)
{
	uint64_t at = t->wptr;

	if (!t->bare)
		return hsa_queue_add_write_index_relaxed(t->queue, BATCH);
	while (at + BATCH > __atomic_load_n(&t->rptr, __ATOMIC_ACQUIRE) + RING)
		;
	return at;
}

static void ring(struct target *t, uint64_t end)
{
	if (t->bare) {
		__atomic_store_n(&t->wptr, end, __ATOMIC_RELEASE);
		return;
	}
	hsa_signal_store_screlease(t->queue->doorbell_signal, (hsa_signal_value_t)(end - 1));
}

static void finish(struct target *t)
{
	while (t->bare && __atomic_load_n(&t->rptr, __ATOMIC_ACQUIRE) != t->wptr)
		usleep(CHECK_US);
	if (!t->bare)
		hsa_signal_wait_scacquire(t->done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
					  HSA_WAIT_STATE_ACTIVE);
}

/* Returns packets per second. The time ends when the last packet has been taken. */
static double run(struct target *t)
{
	const hsa_signal_t none = {0};
	uint64_t start = clock_ns(), written = 0;
	bool last = false;

	hsa_signal_store_relaxed(t->done, 1);
	for (; !last; written += BATCH) {
		uint64_t at = reserve(t);

		while (!t->bare &&
		       at + BATCH > hsa_queue_load_read_index_scacquire(t->queue) + RING)
			;
		last = clock_ns() - start >= ITERATION_NS;
		for (uint64_t i = at; i < at + BATCH; i++)
			gpu_barrier(t->queue, i, none,
				    last && i == at + BATCH - 1 ? t->done : none);
		ring(t, at + BATCH);
	}
	finish(t);
	return (double)written * 1e9 / (double)(clock_ns() - start);
}

/* The loop: takes packets until `ending` is set. */
static void *take_all(void *arg)
{
	struct target *t = arg;
	uint64_t end;

	while (!__atomic_load_n(&t->ending, __ATOMIC_ACQUIRE)) {
		end = __atomic_load_n(&t->wptr, __ATOMIC_ACQUIRE);
		if (t->rptr == end)
			usleep(CHECK_US);
		for (uint64_t i = t->rptr; i < end; i++) {
			hsa_barrier_and_packet_t *packet =
				(hsa_barrier_and_packet_t *)t->queue->base_address + i % RING;

			__atomic_store_n(&packet->header, HSA_PACKET_TYPE_INVALID,
					 __ATOMIC_RELEASE);
			__atomic_store_n(&t->rptr, i + 1, __ATOMIC_RELEASE);
		}
	}
	return NULL;
}

/* Measures both alternately. */
static void measure(struct target *gpu, double *rates, double *bare_rates)
{
	hsa_queue_t memory = {.size = RING};
	struct target bare = {.queue = &memory, .bare = true, .done = gpu->done};
	pthread_t taker;

	memory.base_address = aligned_alloc(64, RING * sizeof(hsa_barrier_and_packet_t));
	if (!memory.base_address || pthread_create(&taker, NULL, take_all, &bare))
		exit(1);
	for (int i = 0; i < ROUNDS; i++) {
		bare_rates[i] = run(&bare);
		rates[i] = run(gpu);
	}
	__atomic_store_n(&bare.ending, true, __ATOMIC_RELEASE);
	pthread_join(taker, NULL);
	free(memory.base_address);
}

int main(void)
{
	double rates[ROUNDS], bare[ROUNDS];
	struct target gpu = {0};
	struct bench bench;

	gpu_must(hsa_init(), "hsa_init");
	gpu.queue = gpu_queue(gpu_first(), RING);
	gpu_must(hsa_signal_create(1, 0, NULL, &gpu.done), "hsa_signal_create");
	measure(&gpu, rates, bare);
	gpu_must(hsa_signal_destroy(gpu.done), "hsa_signal_destroy");
	gpu_must(hsa_queue_destroy(gpu.queue), "hsa_queue_destroy");
	gpu_must(hsa_shut_down(), "hsa_shut_down");

	bench_begin(&bench, "barriers", "Barrier packets through one queue");
	bench_figure(&bench, "a loop that takes packets off the ring / kfdsim, packets a second",
		     bench_ratio(bare, rates, ROUNDS), "x", "at_most", 100);
	bench_figure(&bench, "barrier packets a second, median of 9 runs",
		     bench_median(rates, ROUNDS), "packets/s", NULL, 0);
	bench_figure(&bench, "the loop", bench_median(bare, ROUNDS), "packets/s", NULL, 0);
	bench_series(&bench, "kfdsim", "packets/s", rates, ROUNDS);
	bench_series(&bench, "a loop that takes packets", "packets/s", bare, ROUNDS);
	return bench_end(&bench);
}
