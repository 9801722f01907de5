// SPDX-License-Identifier: MIT
/*
 * Proves that kfdreplay's plan of a recording, alone on the simulated GPU, keeps the GPU busy as
 * long as it was when it was recorded: within 2 % for each request, on every profile.
 *
 * Copies are left out on both sides, because their duration is that of the host.
 */
#include "tests/unit/sim_gpu/world.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/sandbox/profile.h"
#include "tools/kfdreplay/trace.h"

/* Plays the kernels of a request as kfdreplay submits them: in order, each occupying whole CUs.
 * Returns the busy time in ns. */
static uint64_t busy_ns(struct gpu *gpu, uint32_t queue, const struct plan *plan,
			const struct plan_request *request, uint32_t wave_slots)
{
	uint64_t before = model_stats(gpu, queue).busy_ns;

	for (size_t i = 0; i < request->count; i++) {
		const struct plan_op *op = &plan->ops[request->first + i];

		if (op->kind != PLAN_SPIN)
			continue;
		model_submit(gpu, queue,
			     barrier_of(dispatch(0, op->workgroups, wave_slots,
						 op->ticks * PLAN_TICK_NS)));
		while (gpu_queue_depth(gpu, queue) > 0)
			model_event(gpu);
	}
	return model_stats(gpu, queue).busy_ns - before;
}

/* Returns the recorded duration of the request's kernels in ns. */
static uint64_t recorded_ns(const struct plan *plan, const struct plan_request *request)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < request->count; i++)
		if (plan->ops[request->first + i].kind == PLAN_SPIN)
			sum += plan->ops[request->first + i].duration_ns;
	return sum;
}

static void play(const char *name, const struct trace *trace, const struct gpu_config *config)
{
	struct gpu *gpu = model_with(*config);
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct plan plan;

	assert_int_equal(plan_make(trace, config->cus, &plan), 0);
	for (size_t i = 0; i < plan.request_count; i++) {
		const struct plan_request *request = &plan.requests[i];
		uint64_t recorded = recorded_ns(&plan, request);
		uint64_t simulated = busy_ns(gpu, queue, &plan, request, config->wave_slots_per_cu);

		assert_true(recorded > 0);
		if (simulated * 100 < recorded * 98 || simulated * 100 > recorded * 102)
			fail_msg("%s: request %zu of %s: %lu ns recorded, %lu ns here", name, i,
				 trace->name, recorded, simulated);
	}
	plan_free(&plan);
	gpu_free(gpu);
}

static void on_every_profile(const char *path)
{
	struct sim_config sim = {0};
	struct profile profile;
	struct trace trace;
	const char *name;
	char error[256];

	if (trace_read(path, &trace, error, sizeof(error)))
		fail_msg("%s", error);
	for (size_t i = 0; (name = profile_name(i)) != NULL; i++) {
		profile_load(name, &profile); /* ends the process if it cannot */
		profile_to_sim(&profile, &sim);
		play(name, &trace, &sim.gpu);
	}
	trace_free(&trace);
}

static void every_trace_on_every_profile(void **state)
{
	const char *source = getenv("SOURCE");
	char pattern[4096];
	glob_t found;

	(void)state;
	assert_non_null(source);
	snprintf(pattern, sizeof(pattern), "%s/traces/*.csv", source);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		on_every_profile(found.gl_pathv[i]);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_trace_on_every_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
