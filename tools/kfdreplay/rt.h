/* SPDX-License-Identifier: MIT */
/*
 * Runs requests on one GPU through a real runtime: HSA directly (hsa.c), or HIP (hip.c).
 *
 * For each request the caller calls request_begin(), then submit() for each of its operations in
 * order, then request_end(), then wait() until the request is complete.
 *
 * Errors: any failure ends the process with one sentence and an exit code: 77 if there is no GPU,
 * no such runtime, or no code object for the GPU; 2 for an unknown device; otherwise 1.
 *
 * Threads: the caller's only.
 */
#ifndef KFDSHIM_TOOLS_KFDREPLAY_RT_H
#define KFDSHIM_TOOLS_KFDREPLAY_RT_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/kfdreplay/trace.h"

struct rt_hip;

/*
 * The part of struct rt that is used with the HSA runtime: device, queue, memory, the spin kernel,
 * packets, copies, and the wait for a request.
 *
 * Kernel packets have the barrier bit set, so the queue executes them in order like a stream.
 * Copies are done by the runtime in its own queues. A copy waits for the completion signal of the
 * operation before it. The operation after a copy waits for the copy by a barrier-AND packet. The
 * runtime calls the queue's error callback from its own thread.
 */
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

	hsa_signal_t done; /* end of the request; the host waits for it */
	/* signals between two operations of a request; only the GPU waits for them */
	hsa_signal_t *links;
	size_t link_count;

	/* State of the current request. */
	size_t links_used;
	bool linked, after_copy; /* the last operation completes last_link; it is a copy */
	hsa_signal_t last_link;	 /* completion signal of the last operation */
	struct rt_mark {
		uint64_t packet;     /* kernel: index of its packet in the queue */
		hsa_signal_t signal; /* copy: its completion signal, 0 when it is complete */
	} * marks;		     /* one for each submitted operation */
};

struct rt {
	const struct rt_api *api;
	bool given_up;		/* stop_queue() was called */
	char gpu_name[64];	/* processor name of the GPU's ISA: "gfx90a" */
	uint32_t compute_units; /* of the GPU */
	uint32_t *cells;	/* --count: a counter for each workgroup of the largest request */

	/* The current request. */
	const struct plan *plan;
	const struct plan_request *request;
	size_t submitted; /* number of operations submitted so far */
	bool ended;	  /* the request's end is submitted, so wait() will report it */

	struct rt_hsa hsa;
	struct rt_hip *hip;
};

struct rt_api {
	const char *name; /* "hsa" or "hip" */
	/* Initialises the runtime for one device. Sets compute_units and gpu_name, from which the
	 * caller makes the plan. */
	void (*open)(struct rt *rt, unsigned device);
	/* Creates queue, memory and kernel for the plan. count: also allocates the cells, in which
	 * each workgroup counts its executions. */
	void (*prepare)(struct rt *rt, const struct plan *plan, bool count);
	/* Releases everything. Must not be called during a request, except after stop_queue(). */
	void (*close)(struct rt *rt);
	/* Gives up the current request. With HSA: destroys the queue, so that operations that have
	 * not run yet never run. With HIP that is not possible; they end with the process. Only
	 * close() is allowed afterwards; the cells stay readable until then. */
	void (*stop_queue)(struct rt *rt);
	/* Makes `request` the current request. */
	void (*request_begin)(struct rt *rt, const struct plan_request *request);
	/* Submits the next operation of the request; there must be one. Returns false if the ring
	 * is full and nothing was done (HIP waits itself instead). */
	bool (*submit)(struct rt *rt);
	/* To be called after the last operation, or after any operation if the rest of the request
	 * is given up. Returns false if the ring is full and nothing was done. */
	bool (*request_end)(struct rt *rt);
	/* Waits for the end of the request, for timeout_ns of wall time (up to 1 ms longer).
	 * Returns true if the request is complete. */
	bool (*wait)(struct rt *rt, uint64_t timeout_ns);
	/* Returns the recorded time of the finished operations, divided by that of the whole
	 * request: 0 to 1. HSA: a kernel counts as finished when the queue's read index has passed
	 * its packet. On parts whose read index passes a packet when it starts, that is one kernel
	 * too early. HIP gives no information: 0 until the request is complete. */
	double (*finished_share)(const struct rt *rt);
};
extern const struct rt_api rt_by_hsa, rt_by_hip;

#define RT_CELLS_BYTES_MAX (1ull << 32)

enum { EXIT_USAGE = 2, EXIT_NOT_HERE = 77 };

/* Prints "kfdreplay: TEXT" and ends the process at once: operations that are still on the GPU end
 * with it, whereas exit handlers of HIP would wait for them, possibly for ever. */
_Noreturn void fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the process if the runtime has no device with this number. */
void rt_check_device(unsigned device, unsigned devices);
/* Returns the bytes of the cells that the plan needs; ends the process if they are too many. */
size_t rt_cells_bytes(const struct plan *plan);

#endif
