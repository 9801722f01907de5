/* SPDX-License-Identifier: MIT */
/*
 * One GPU through a real runtime: HSA itself (hsa.c, submit.c), or HIP above it
 * (hip.c).
 *
 * A request is a chain: request_begin(), then its operations in order, then
 * request_end(), then wait() until it is done.
 *
 * Errors: a negative errno, with one sentence in rt->why: -ENODEV no GPU or no
 * such runtime here, or none of ours for it (exit 77), -ERANGE no such device
 * (exit 2), others are failures. Threads: the caller's one.
 */
#ifndef KFDSHIM_REPLAY_RT_H
#define KFDSHIM_REPLAY_RT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "replay/hsa.h"
#include "replay/plan.h"

struct rt_hip;

struct rt {
	const struct rt_api *api;
	bool opened;	   /* the runtime has been initialised */
	bool given_up;	   /* stop_queue() was called */
	char gpu_name[64]; /* processor name of its ISA: "gfx90a" */
	uint32_t compute_units;
	uint32_t *cells; /* --count: one for each workgroup of the largest request */

	/* the request under way */
	const struct plan *plan;
	const struct plan_request *request;
	size_t submitted; /* operations */
	bool ended;	  /* its end is promised */

	struct rt_hsa hsa;
	struct rt_hip *hip;
	char why[256];
};

struct rt_api {
	const char *name;
	/* What to open. `compute_units` and `gpu_name` are known after the first
	 * call, the rest needs the plan made for them. */
	int (*open)(struct rt *rt, unsigned device);
	int (*prepare)(struct rt *rt, const struct plan *plan, bool count);
	/* Safe after any failure; not with a request under way. */
	void (*close)(struct rt *rt);
	/* Gives up the request under way. HSA: destroys the queue, so that what has
	 * not run never will; HIP cannot: the process' end does. Only close() may
	 * follow; the cells stay readable until then. */
	void (*stop_queue)(struct rt *rt);
	void (*request_begin)(struct rt *rt, const struct plan_request *request);
	/* Submits the next operation of the request, of which there must be one.
	 * -EAGAIN: the ring is full, nothing was done (HIP waits by itself). */
	int (*submit)(struct rt *rt);
	/* After the last operation, or after any when the request is given up
	 * there. -EAGAIN as above. */
	int (*request_end)(struct rt *rt);
	/* 1 done, 0 not within `timeout_ns` (wall time; it may last 1 ms longer),
	 * -EIO. */
	int (*wait)(struct rt *rt, uint64_t timeout_ns);
	/* The recorded time of the operations that are finished, over that of the
	 * whole request: 0..1. HSA: a kernel counts once the queue's read index is
	 * past it; on parts that pass a packet when they take it, that is one kernel
	 * too early. HIP does not tell: 0 until all is done. */
	double (*finished_share)(const struct rt *rt);
};
extern const struct rt_api rt_by_hsa, rt_by_hip;

#define RT_CELLS_BYTES_MAX (1ull << 32)

/* Are so many bytes of cells too many? 0 or -E2BIG. */
static inline int rt_check_cells(struct rt *rt, size_t bytes)
{
	if (bytes <= RT_CELLS_BYTES_MAX)
		return 0;
	snprintf(rt->why, sizeof(rt->why), "--count would need %zu MiB of cells for one request",
		 bytes >> 20);
	return -E2BIG;
}

#endif
