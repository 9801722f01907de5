/* SPDX-License-Identifier: MIT */
/*
 * The part of struct rt that is used with the HSA runtime: device, queue, memory, the spin kernel,
 * packets, copies, and the wait for a request.
 *
 * Kernel packets have the barrier bit set, so the queue executes them in order like a stream.
 * Copies are done by the runtime in its own queues. A copy waits for the completion signal of the
 * operation before it. The operation after a copy waits for the copy by a barrier-AND packet.
 *
 * Threads: the caller's one; but the runtime calls the queue's error callback from its own thread.
 */
#ifndef KFDSHIM_TOOLS_KFDREPLAY_HSA_H
#define KFDSHIM_TOOLS_KFDREPLAY_HSA_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/kfdreplay/plan.h"

struct rt;

struct rt_hsa {
	hsa_agent_t gpu, cpu;
	uint64_t clock_hz; /* ticks per second of the runtime's timeouts */
	hsa_queue_t *queue;
	hsa_status_t queue_status; /* queue error; written by the runtime's thread (__atomic) */

	hsa_amd_memory_pool_t host_pool, kernarg_pool, device_pool;
	char *kernargs;	       /* kernel arguments, one block for each operation of the plan */
	size_t kernarg_stride; /* bytes from one block to the next */
	void *host_buffer, *device_buffer[2];

	hsa_executable_t executable;
	hsa_code_object_reader_t reader;
	uint64_t kernel_object;
	uint32_t kernarg_bytes, private_bytes;

	hsa_signal_t done;   /* end of the request; the host waits for it */
	hsa_signal_t *links; /* between two operations of a request; only the GPU waits for them */
	size_t link_count;

	/* State of the current request. */
	size_t links_used;
	bool linked, after_copy; /* the last operation: completes last_link; is a copy */
	hsa_signal_t last_link;	 /* completion signal of the last operation */
	struct rt_mark {
		uint64_t packet;     /* kernel: index of its packet in the queue */
		hsa_signal_t signal; /* copy: its completion signal, 0 when it is complete */
	} * marks;		     /* one for each submitted operation */
};

/*
 * Implemented in submit.c. Starts one copy. kind: PLAN_H2D, PLAN_D2H or PLAN_D2D. after: signal to
 * wait for; NULL: none. done: set to 1 by the caller, becomes 0 when the copy is complete.
 */
void hsa_copy(struct rt *rt, enum plan_kind kind, uint64_t bytes, const hsa_signal_t *after,
	      hsa_signal_t done);
/* Functions of struct rt_api (rt.h), implemented in submit.c. */
void hsa_request_begin(struct rt *rt, const struct plan_request *request);
bool hsa_submit(struct rt *rt);
bool hsa_request_end(struct rt *rt);
bool hsa_wait(struct rt *rt, uint64_t timeout_ns);
double hsa_finished_share(const struct rt *rt);

/* Return the name of a status and its length, for "%.*s". The name is the first part of a longer,
 * static text. */
const char *hsa_name(hsa_status_t status);
int hsa_name_length(hsa_status_t status);

#endif
