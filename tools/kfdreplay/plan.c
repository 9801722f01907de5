// SPDX-License-Identifier: MIT
#include "tools/kfdreplay/plan.h"

#include <errno.h>
#include <stdlib.h>

#define MEMSET_BYTES_WORKGROUP 65536u

static uint64_t clamp_u64(uint64_t value, uint64_t low, uint64_t high)
{
	if (value > high)
		value = high;
	return value < low ? low : value;
}

static uint64_t ticks_of(uint64_t ns)
{
	return clamp_u64((ns + PLAN_TICK_NS / 2) / PLAN_TICK_NS, 1, UINT64_MAX);
}

static void plan_kernel(const struct trace_row *row, uint32_t cus, struct plan_op *op)
{
	/* The grid size in an AQL packet is a 32-bit number of threads. */
	uint64_t most = UINT32_MAX / PLAN_THREADS / cus;
	uint64_t shared = clamp_u64(PLAN_RECORDED_THREADS / row->threads, 1, UINT64_MAX);
	uint64_t wave = PLAN_RECORDED_CUS * shared; /* workgroups */
	uint64_t waves;

	if (row->groups < PLAN_RECORDED_CUS) {
		uint64_t share = row->groups * cus + PLAN_RECORDED_CUS / 2;

		op->workgroups = (uint32_t)clamp_u64(share / PLAN_RECORDED_CUS, 1, cus);
		op->ticks = ticks_of(row->duration_ns);
		return;
	}
	waves = (row->groups + wave / 2) / wave;
	waves = clamp_u64(waves, 1, clamp_u64(row->duration_ns / 1000, 1, most));
	op->workgroups = (uint32_t)(waves * cus);
	op->ticks = ticks_of((row->duration_ns + waves / 2) / waves);
}

static void plan_row(const struct trace_row *row, uint32_t cus, struct plan_op *op)
{
	op->duration_ns = row->duration_ns;
	op->bytes = row->bytes;
	switch (row->op) {
	case TRACE_KERNEL:
		op->kind = PLAN_SPIN;
		plan_kernel(row, cus, op);
		break;
	case TRACE_MEMSET:
		op->kind = PLAN_SPIN;
		op->workgroups = (uint32_t)clamp_u64(
			(row->bytes + MEMSET_BYTES_WORKGROUP - 1) / MEMSET_BYTES_WORKGROUP, 1, cus);
		op->ticks = ticks_of(row->duration_ns);
		break;
	case TRACE_MEMCPY_H2D:
		op->kind = PLAN_H2D;
		break;
	case TRACE_MEMCPY_D2H:
		op->kind = PLAN_D2H;
		break;
	case TRACE_MEMCPY_D2D:
	case TRACE_SYNC: /* does not occur: the reader stores no sync rows */
		op->kind = PLAN_D2D;
		break;
	}
}

static void plan_request(const struct trace *trace, const struct trace_request *from,
			 struct plan *plan, struct plan_request *request)
{
	*request = (struct plan_request){from->first, from->count, from->duration_ns, 0};
	for (size_t i = from->first; i < from->first + from->count; i++) {
		struct plan_op *op = &plan->ops[i];

		plan_row(&trace->rows[i], plan->compute_units, op);
		op->launch_ns = trace->rows[i].launch_ns - trace->rows[from->first].launch_ns;
		op->cell = request->cells;
		request->cells += op->workgroups;
		plan->uses[op->kind] = true;
		if (op->kind != PLAN_SPIN && op->bytes > plan->max_bytes)
			plan->max_bytes = op->bytes;
	}
	if (request->count > plan->max_ops)
		plan->max_ops = request->count;
	if (request->cells > plan->max_cells)
		plan->max_cells = request->cells;
}

int plan_make(const struct trace *trace, uint32_t compute_units, struct plan *out)
{
	double total = 0;

	*out = (struct plan){.compute_units = compute_units};
	if (compute_units == 0 || compute_units > UINT16_MAX || trace->request_count == 0)
		return -EINVAL;
	out->ops = calloc(trace->row_count, sizeof(*out->ops));
	out->requests = calloc(trace->request_count, sizeof(*out->requests));
	if (!out->ops || !out->requests) {
		plan_free(out);
		return -ENOMEM;
	}
	out->op_count = trace->row_count;
	out->request_count = trace->request_count;
	for (size_t i = 0; i < trace->request_count; i++) {
		plan_request(trace, &trace->requests[i], out, &out->requests[i]);
		total += (double)out->requests[i].duration_ns;
	}
	out->mean_ns = total / (double)out->request_count;
	return 0;
}

void plan_free(struct plan *plan)
{
	free(plan->ops);
	free(plan->requests);
	*plan = (struct plan){0};
}
