/* SPDX-License-Identifier: MIT */
/*
 * What the programs here that use AMD's runtime share. What fails ends the program
 * with one line and exit code 1.
 */
#ifndef KFDSHIM_TESTS_BENCH_GPU_H
#define KFDSHIM_TESTS_BENCH_GPU_H

#include <hsa/hsa.h>
#include <string.h>

void gpu_must(hsa_status_t status, const char *what);
/* The first GPU of an initialised runtime. */
hsa_agent_t gpu_first(void);
/* A queue for any thread, with room for so many packets. */
hsa_queue_t *gpu_queue(hsa_agent_t gpu, uint32_t packets);

/* A barrier packet in slot `at`; either signal may be 0. Nobody has rung for it. */
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
