// SPDX-License-Identifier: MIT
/*
 * Barrier packets through one queue of the real runtime, as fast as the ring
 * takes them: one thread writes whenever there is room and rings once a batch.
 * The time is from the first packet to the last one's completion signal.
 */
#include <hsa/hsa.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figures.h"
#include "common/clock.h"

#define RING 16384u /* what HIP asks for */
#define PACKETS 400000u
#define BATCH 64u
#define ROUNDS 7
#define CHECK(call)                                                                                \
	do {                                                                                       \
		hsa_status_t s_ = (call);                                                          \
		if (s_ != HSA_STATUS_SUCCESS) {                                                    \
			fprintf(stderr, "%s:%d: %s is 0x%x\n", __FILE__, __LINE__, #call, s_);     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static hsa_status_t find_gpu(hsa_agent_t agent, void *arg)
{
	hsa_device_type_t type;

	CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
	if (type == HSA_DEVICE_TYPE_GPU)
		*(hsa_agent_t *)arg = agent;
	return HSA_STATUS_SUCCESS;
}

static void write_packet(hsa_queue_t *queue, uint64_t at, hsa_signal_t done)
{
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)queue->base_address + at % queue->size;

	memset((char *)packet + 2, 0, sizeof *packet - 2);
	packet->completion_signal = done;
	__atomic_store_n(&packet->header,
			 HSA_PACKET_TYPE_BARRIER_AND | 1u << HSA_PACKET_HEADER_BARRIER,
			 __ATOMIC_RELEASE);
}

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
			write_packet(queue, i,
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
	hsa_agent_t gpu;

	_Static_assert(PACKETS % BATCH == 0, "whole batches");
	CHECK(hsa_init());
	CHECK(hsa_iterate_agents(find_gpu, &gpu));
	CHECK(hsa_queue_create(gpu, RING, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX,
			       &queue));
	CHECK(hsa_signal_create(1, 0, NULL, &done));
	for (int i = 0; i < ROUNDS; i++)
		rates[i] = run(queue, done);
	CHECK(hsa_signal_destroy(done));
	CHECK(hsa_queue_destroy(queue));
	CHECK(hsa_shut_down());

	bench_begin(&bench, "barriers", "Barrier packets through one queue");
	bench_figure(&bench, "barrier packets a second, median of 7 runs",
		     bench_median(rates, ROUNDS), "packets/s", "at_least", 250000);
	bench_series(&bench, "a run of 400,000 packets", "packets/s", rates, ROUNDS);
	return bench_end(&bench);
}
