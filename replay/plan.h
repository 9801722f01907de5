/* SPDX-License-Identifier: MIT */
/*
 * From a recorded trace to operations for a given GPU. Pure.
 *
 * The recorded GPU has 132 multiprocessors. A kernel of G workgroups that took
 * D there becomes
 *
 *   G >= 132   w = round(G / (132 x shared)) waves, at least one and no more
 *              than D / 1 us: w x (compute units) workgroups that spin D / w
 *              each: it fills our GPU, as it filled the recorded one, and gives
 *              way as often
 *   G < 132    round(G / 132 x compute units) workgroups (at least one) that
 *              spin D: the same share of the GPU, for the same time
 *
 * where `shared` = workgroups that ran on one multiprocessor at a time.
 *
 * Two assumptions, because a recording does not say how many those were:
 * - `shared` is what fits by registers if a thread has 64 of them, as many as
 *   leave room for 1024 threads (NVIDIA's H200: 65536 a multiprocessor, Hopper
 *   tuning guide): 1024 / threads of a workgroup, at least one.
 * - What shared a multiprocessor becomes one workgroup here, which takes a
 *   whole compute unit (it is dispatched with all 64 KiB of LDS): our kernels
 *   leave no room beside them where the recorded ones may have left some.
 *
 * Copies stay copies of the same number of bytes, done by the runtime: they
 * take what they take on this machine. A memset is a spin of its recorded
 * duration in the same queue: the runtime's fill call is synchronous and would
 * put a host wait into the stream, and a copy would go by another queue and
 * two more dependencies, while what drivers do for a memset is a small kernel
 * in the stream. It takes a compute unit for each 64 KiB that it clears.
 *
 * Units: nanoseconds of the recording; ticks of the 100 MHz counter (10 ns).
 */
#ifndef KFDSHIM_REPLAY_PLAN_H
#define KFDSHIM_REPLAY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/trace.h"

#define PLAN_RECORDED_UNITS 132u    /* multiprocessors of the recorded GPU */
#define PLAN_RECORDED_THREADS 1024u /* resident on one of them, at 64 registers */
#define PLAN_TICK_NS 10u
#define PLAN_THREADS 256u /* of a workgroup */
#define PLAN_LDS_BYTES 65536u

enum plan_kind { PLAN_SPIN, PLAN_H2D, PLAN_D2H, PLAN_D2D };
#define PLAN_KINDS 4u

struct plan_op {
	enum plan_kind kind;
	uint32_t workgroups;  /* spin: > 0 */
	uint64_t ticks;	      /* spin: > 0, each workgroup's */
	uint64_t cell;	      /* spin: its first cell within the request */
	uint64_t bytes;	      /* copies */
	uint64_t duration_ns; /* as recorded */
	uint64_t launch_ns;   /* as recorded, from the request's first operation on */
};

struct plan_request {
	size_t first, count;  /* ops; count > 0 */
	uint64_t duration_ns; /* recorded, all of its operations */
	uint64_t cells;	      /* workgroups, all of its operations */
};

struct plan {
	uint32_t compute_units;
	struct plan_op *ops;
	size_t op_count;
	struct plan_request *requests;
	size_t request_count; /* > 0 */
	size_t max_ops;	      /* of one request */
	uint64_t max_cells;   /* of one request */
	uint64_t max_bytes;   /* of one copy */
	bool uses[PLAN_KINDS];
	double mean_ns; /* recorded GPU time of a request, the mean over all */
};

/* -ENOMEM, or -EINVAL: no compute units. */
int plan_make(const struct trace *trace, uint32_t compute_units, struct plan *out);
void plan_free(struct plan *plan);
/* What a spin takes alone on the GPU: its waves x its ticks. */
uint64_t plan_spin_ns(const struct plan *plan, const struct plan_op *op);

#endif
