/* SPDX-License-Identifier: MIT */
/*
 * The HSA runtime's own part of struct rt: device, queue, memory, the spin
 * kernel, packets, copies, the wait for a request.
 *
 * Kernel packets carry the barrier bit, so the queue is a stream. A copy is done
 * by the runtime's own queues: it depends on the completion signal of what stands
 * before it, and what follows a copy waits for it by a barrier-AND packet. The
 * runtime calls the queue's error callback from a thread of its own.
 */
#ifndef KFDSHIM_REPLAY_HSA_H
#define KFDSHIM_REPLAY_HSA_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay/plan.h"

struct rt;

struct rt_hsa {
	hsa_agent_t gpu, cpu;
	uint64_t clock_hz; /* of the runtime's timeouts */
	hsa_queue_t *queue;
	hsa_status_t queue_status; /* written by the runtime's thread (__atomic) */

	hsa_amd_memory_pool_t host_pool, kernarg_pool, device_pool;
	char *kernargs; /* one for each operation of the plan */
	size_t kernarg_stride;
	void *host_buffer, *device_buffer[2];

	hsa_executable_t executable;
	hsa_code_object_reader_t reader;
	uint64_t kernel_object;
	uint32_t kernarg_bytes, private_bytes;

	/* signals: `done` the host waits for, links only the GPU does */
	hsa_signal_t done;
	hsa_signal_t *links;
	size_t link_count;

	/* the request under way */
	size_t links_used;
	bool linked, after_copy; /* the last operation completes last_link; was a copy */
	hsa_signal_t last_link;
	struct rt_mark {
		uint64_t packet;     /* kernel: its index in the queue */
		hsa_signal_t signal; /* copy: completed at 0 */
	} * marks;		     /* one for each submitted operation */
};

/* submit.c. Starts one copy of a copy kind, after `after` (NULL: at once); `done`
 * goes from 1 to 0 when it is complete. */
int hsa_copy(struct rt *rt, enum plan_kind kind, uint64_t bytes, const hsa_signal_t *after,
	     hsa_signal_t done);
void hsa_request_begin(struct rt *rt, const struct plan_request *request);
int hsa_submit(struct rt *rt);
int hsa_request_end(struct rt *rt);
int hsa_wait(struct rt *rt, uint64_t timeout_ns);
double hsa_finished_share(const struct rt *rt);

/* The name of a status, for "%.*s": its length comes first. */
const char *hsa_name(hsa_status_t status);
int hsa_name_length(hsa_status_t status);

#endif
