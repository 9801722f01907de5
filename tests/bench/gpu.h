/* SPDX-License-Identifier: MIT */
/*
 * Helpers of the benchmarks that use AMD's runtime. A failed call ends the program with one line on
 * stderr and exit code 1.
 */
#ifndef KFDSHIM_TESTS_BENCH_GPU_H
#define KFDSHIM_TESTS_BENCH_GPU_H

#include <hsa/hsa.h>
#include <string.h>

/* Ends the program unless `status` is HSA_STATUS_SUCCESS or HSA_STATUS_INFO_BREAK. `what`: the name
 * of the call, for the message. */
void gpu_must(hsa_status_t status, const char *what);
/* Returns the first GPU of the runtime, which is initialised; a handle of 0 if it has none. */
hsa_agent_t gpu_first(void);
/* Creates a queue that any thread can use, with room for `packets` packets (a power of two). */
hsa_queue_t *gpu_queue(hsa_agent_t gpu, uint32_t packets);

/* Writes a barrier-AND packet to slot `at` (modulo the ring's size), without a doorbell. Either
 * signal may be 0: the packet then waits for nothing, or completes nothing. */
static inline void gpu_barrier(hsa_queue_t *queue, uint64_t at, hsa_signal_t wait_for,
			       hsa_signal_t completion)
{
	hsa_barrier_and_packet_t *packet =
		(hsa_barrier_and_packet_t *)queue->base_address + at % queue->size;

	memset((char *)packet + 2, 0, sizeof *packet - 2);
	packet->dep_signal[0] = wait_for;
	packet->completion_signal = completion;
	__atomic_store_n(&packet->header,
			 HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
				 1 << HSA_PACKET_HEADER_BARRIER,
			 __ATOMIC_RELEASE);
}

#endif
