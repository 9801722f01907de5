/* SPDX-License-Identifier: MIT */
/*
 * One GPU through the real HSA runtime: device, queue, memory, the spin
 * kernel, packets, copies, the wait for a request.
 *
 * A request is a chain: rt_request_begin(), then its operations in order, then
 * rt_request_end(), then rt_wait() until it is done. Kernel packets carry the
 * barrier bit, so the queue is a stream. A copy is done by the runtime's own
 * queues: it depends on the completion signal of what stands before it, and
 * what follows a copy waits for it by a barrier-AND packet.
 *
 * Errors: a negative errno, with one sentence in rt->why: -ENODEV no GPU here
 * or none of ours for it (exit 77), -ERANGE no such device (exit 2), others
 * are failures. Threads: the caller's one; the runtime calls the queue's error
 * callback from a thread of its own.
 */
#ifndef KFDSHIM_REPLAY_HSA_H
#define KFDSHIM_REPLAY_HSA_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay/plan.h"

struct rt {
	bool opened;   /* hsa_init has succeeded */
	bool given_up; /* rt_stop_queue() was called */
	hsa_agent_t gpu, cpu;
	char gpu_name[64]; /* processor name of its ISA: "gfx90a" */
	uint32_t compute_units;
	uint64_t clock_hz; /* of the runtime's timeouts */
	hsa_queue_t *queue;
	hsa_status_t queue_status; /* written by the runtime's thread (__atomic) */

	hsa_amd_memory_pool_t host_pool, kernarg_pool, device_pool;
	char *kernargs; /* one for each operation of the plan */
	size_t kernarg_stride;
	void *host_buffer, *device_buffer[2];
	uint32_t *cells; /* --count: one for each workgroup of the largest request */

	hsa_executable_t executable;
	hsa_code_object_reader_t reader;
	uint64_t kernel_object;
	uint32_t kernarg_bytes, private_bytes;

	/* signals: `done` the host waits for, links only the GPU does */
	hsa_signal_t done;
	hsa_signal_t *links;
	size_t link_count;

	/* the request under way */
	const struct plan *plan;
	const struct plan_request *request;
	size_t submitted; /* operations */
	size_t links_used;
	bool linked, after_copy; /* the last operation completes last_link; was a copy */
	hsa_signal_t last_link;
	bool ended; /* `done` is promised */
	struct rt_mark {
		uint64_t packet;     /* kernel: its index in the queue */
		hsa_signal_t signal; /* copy: completed at 0 */
	} * marks;		     /* one for each submitted operation */

	char why[256];
};

/* What to open. `compute_units` and `gpu_name` are known after the first call,
 * the rest needs the plan made for them. */
int rt_open(struct rt *rt, unsigned device);
int rt_prepare(struct rt *rt, const struct plan *plan, bool count);
/* Safe after any failure; not with a request under way. */
void rt_close(struct rt *rt);
/* Gives up the request under way: destroys the queue, so that what has not run
 * never will. Only rt_close() may follow; the cells stay readable until then. */
void rt_stop_queue(struct rt *rt);
/* Starts one copy of a copy kind, after `after` (NULL: at once); `done` goes
 * from 1 to 0 when it is complete. */
int rt_copy(struct rt *rt, enum plan_kind kind, uint64_t bytes, const hsa_signal_t *after,
	    hsa_signal_t done);

void rt_request_begin(struct rt *rt, const struct plan_request *request);
/* Submits the next operation of the request, of which there must be one.
 * -EAGAIN: the ring is full, nothing was done. */
int rt_submit(struct rt *rt);
/* After the last operation, or after any when the request is given up there.
 * -EAGAIN as above. */
int rt_request_end(struct rt *rt);
/* 1 done, 0 not within `timeout_ns` (wall time; it may last 1 ms longer), -EIO. */
int rt_wait(struct rt *rt, uint64_t timeout_ns);
/* The recorded time of the operations that are finished, over that of the whole
 * request: 0..1. A kernel counts once the queue's read index is past it; on
 * parts that pass a packet when they take it, that is one kernel too early. */
double rt_finished_share(const struct rt *rt);

/* The name of a status, for "%.*s": its length comes first. */
const char *rt_status_name(hsa_status_t status);
int rt_status_length(hsa_status_t status);

#endif
