// SPDX-License-Identifier: MIT
/*
 * Proves that a plan asks of the GPU what the recording contains, for any number of compute units.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tools/kfdreplay/trace.h"

static const uint32_t sizes[] = {1, 40, 104, 132, 304};

/* Returns the planned operation of one row. */
static struct plan_op plan_one(const struct trace_row *row, uint32_t cus)
{
	struct trace_request request = {0, 1, row->duration_ns};
	struct trace trace = {"one", (struct trace_row *)row, 1, &request, 1};
	struct plan plan;
	struct plan_op op;

	assert_int_equal(plan_make(&trace, cus, &plan), 0);
	op = plan.ops[0];
	plan_free(&plan);
	return op;
}

static void expect_shared(uint64_t groups, uint64_t threads, uint64_t ns, uint32_t cus,
			  uint32_t workgroups, uint64_t ticks)
{
	struct trace_row row = {TRACE_KERNEL, 0, ns, groups, threads, 0};
	struct plan_op op = plan_one(&row, cus);

	assert_int_equal(op.kind, PLAN_SPIN);
	assert_int_equal(op.workgroups, workgroups);
	assert_int_equal(op.ticks, ticks);
}

/* A kernel of which one workgroup fits on a multiprocessor at a time. */
static void expect_kernel(uint64_t groups, uint64_t ns, uint32_t cus, uint32_t workgroups,
			  uint64_t ticks)
{
	expect_shared(groups, 1024, ns, cus, workgroups, ticks);
}

static void workgroups_share(void **state)
{
	(void)state;
	/* eight workgroups of 128 threads on each multiprocessor: one wave of 1056, then two */
	expect_shared(1056, 128, 20000, 104, 104, 2000);
	expect_shared(2112, 128, 20000, 104, 208, 1000);
	/* a wave that is not full counts as one */
	expect_shared(132, 128, 20000, 104, 104, 2000);
	/* two workgroups of 384 threads fit; of more than 512 threads one */
	expect_shared(528, 384, 20000, 104, 208, 1000);
	expect_shared(264, 513, 20000, 104, 208, 1000);
	expect_shared(264, 4096, 20000, 104, 208, 1000);
}

static void follows_the_rules(void **state)
{
	(void)state;
	/* a full GPU stays full, with as many waves as recorded */
	expect_kernel(132, 332060, 104, 104, 33206);
	expect_kernel(264, 20000, 104, 208, 1000);
	expect_kernel(1320, 100000, 104, 1040, 1000);
	/* 197 workgroups round to one wave, 198 to two */
	expect_kernel(197, 20000, 104, 104, 2000);
	expect_kernel(198, 20000, 104, 208, 1000);
	/* no wave is shorter than 1 us */
	expect_kernel(132 * 100, 3999, 104, 312, 133);
	expect_kernel(132 * 100, 999, 104, 104, 100);
	/* a part of the GPU stays the same part */
	expect_kernel(131, 5000, 132, 131, 500);
	expect_kernel(66, 5000, 104, 52, 500);
	expect_kernel(1, 5000, 104, 1, 500);
	expect_kernel(1, 5000, 1, 1, 500);
	/* less than a tick becomes a tick */
	expect_kernel(1, 9, 104, 1, 1);
	expect_kernel(1, 0, 104, 1, 1);
	/* a grid that does not fit into an AQL packet becomes the largest that does */
	expect_kernel(TRACE_GRID_MAX, TRACE_DURATION_MAX, 304, 55188u * 304u, 108719);
}

static void other_operations(void **state)
{
	struct trace_row row = {TRACE_MEMSET, 0, 736, 0, 0, 4};
	struct plan_op op = plan_one(&row, 104);

	(void)state;
	assert_int_equal(op.kind, PLAN_SPIN);
	assert_int_equal(op.workgroups, 1);
	assert_int_equal(op.ticks, 74);
	row.bytes = 65536 * 3 + 1;
	assert_int_equal(plan_one(&row, 104).workgroups, 4);
	row.bytes = 1ull << 40;
	assert_int_equal(plan_one(&row, 104).workgroups, 104);
	row.op = TRACE_MEMCPY_D2H;
	op = plan_one(&row, 104);
	assert_int_equal(op.kind, PLAN_D2H);
	assert_int_equal(op.bytes, 1ull << 40);
	assert_int_equal(op.workgroups, 0);
}

static void refuses_no_gpu(void **state)
{
	struct trace_row row = {TRACE_KERNEL, 0, 1, 1, 1, 0};
	struct trace_request request = {0, 1, 1};
	struct trace trace = {"one", &row, 1, &request, 1};
	struct plan plan;

	(void)state;
	assert_int_equal(plan_make(&trace, 0, &plan), -EINVAL);
}

static double off(double value, double recorded)
{
	return fabs(value - recorded) / recorded;
}

/* Returns the duration of a spin kernel that has the GPU for itself, in ns: its waves x its
 * ticks. */
static uint64_t plan_spin_ns(const struct plan *plan, const struct plan_op *op)
{
	uint64_t waves = (op->workgroups + plan->compute_units - 1) / plan->compute_units;

	return waves * op->ticks * PLAN_TICK_NS;
}

static void check_plan(const struct trace *trace, const struct plan *plan)
{
	double recorded = 0, planned = 0;

	for (size_t i = 0; i < plan->op_count; i++) {
		const struct plan_op *op = &plan->ops[i];
		double ns = (double)plan_spin_ns(plan, op);

		assert_int_equal(op->duration_ns, trace->rows[i].duration_ns);
		if (op->kind != PLAN_SPIN)
			continue;
		/* half a tick is 1 % of 500 ns: shorter kernels cannot be planned more exactly */
		if (off(ns, (double)op->duration_ns) > 0.01 && op->duration_ns >= 500)
			fail_msg("%s row %zu: %g ns planned, %" PRIu64 " recorded", trace->name, i,
				 ns, op->duration_ns);
		assert_true(op->workgroups >= 1);
		if (trace->rows[i].op == TRACE_KERNEL && trace->rows[i].groups >= 132)
			assert_int_equal(op->workgroups % plan->compute_units, 0);
		recorded += (double)op->duration_ns;
		planned += ns;
	}
	if (off(planned, recorded) > 0.02)
		fail_msg("%s: %g ns planned, %g recorded", trace->name, planned, recorded);
}

static void check_cells(const struct plan *plan)
{
	for (size_t i = 0; i < plan->request_count; i++) {
		const struct plan_request *request = &plan->requests[i];
		uint64_t cell = 0;

		for (size_t k = 0; k < request->count; k++) {
			assert_int_equal(plan->ops[request->first + k].cell, cell);
			cell += plan->ops[request->first + k].workgroups;
		}
		assert_int_equal(request->cells, cell);
		assert_true(plan->max_cells >= cell && plan->max_ops >= request->count);
	}
}

static void keeps_recordings(void **state)
{
	static const char *const files[] = {"offline_gemm4000_f32", "offline_gpt2m_train_8x1024",
					    "online_llama1b_decode_b1", "online_resnet50_b1"};
	static const double mean_us[] = {329.5, 87131, 2267, 913};
	char path[512], error[600];

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct trace trace;

		snprintf(path, sizeof(path), "%s/traces/%s.csv", getenv("SOURCE"), files[i]);
		if (trace_read(path, &trace, error, sizeof(error)) != 0)
			fail_msg("%s", error);
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			struct plan plan;

			assert_int_equal(plan_make(&trace, sizes[k], &plan), 0);
			check_plan(&trace, &plan);
			check_cells(&plan);
			assert_true(off(plan.mean_ns / 1e3, mean_us[i]) < 0.01);
			plan_free(&plan);
		}
		trace_free(&trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_the_rules), cmocka_unit_test(workgroups_share),
		cmocka_unit_test(other_operations),  cmocka_unit_test(refuses_no_gpu),
		cmocka_unit_test(keeps_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
