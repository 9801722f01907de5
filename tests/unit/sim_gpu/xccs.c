// SPDX-License-Identifier: MIT
/*
 * Proves the behaviour of several XCCs: workgroups are distributed over them in turn, each XCC
 * works independently, and a workgroup is on one CU.
 */
#include "tests/unit/sim_gpu/world.h"

#define XCCS 4u

/* 4 XCCs of 2 CUs of 10 wave slots. */
static struct gpu *xccs_new(void)
{
	struct gpu_config config = model_config();

	config.xccs = XCCS;
	config.cus = 2 * XCCS;
	return model_with(config);
}

static void over_the_xccs_in_rotation(void **state)
{
	struct gpu *gpu = xccs_new();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu) + PACKET_NS;
	struct gpu_event event;

	(void)state;
	/* Eight workgroups of one CU each run at once. Nine do not: the ninth belongs to XCC 0. */
	model_submit(gpu, queue, barrier_of(dispatch(1, 8, CU_WAVE_SLOTS, 1000)));
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + 1000);
	model_submit(gpu, queue, barrier_of(dispatch(2, 9, CU_WAVE_SLOTS, 1000)));
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + 1000 + PACKET_NS + 2000);
	/* They are reported in one event, because they start together on all XCCs. */
	model_submit(gpu, queue, traced(dispatch(3, 7, 1, 1000)));
	event = model_until(gpu, GPU_EVENT_WORKGROUPS, 3);
	assert_int_equal(event.first, 0);
	assert_int_equal(event.count, 7);
	assert_int_equal(event.stride, 1);
	gpu_free(gpu);
}

/* If one XCC is full, its workgroups wait, but those of the other XCCs do not. */
static void each_for_itself(void **state)
{
	struct gpu *gpu = xccs_new();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu) + PACKET_NS;
	uint32_t seen = 0;

	(void)state;
	/* A single workgroup belongs to XCC 0: these two fill it. */
	model_submit(gpu, a, dispatch(1, 1, CU_WAVE_SLOTS, 5000));
	model_submit(gpu, a, dispatch(2, 1, CU_WAVE_SLOTS, 5000));
	model_until(gpu, GPU_EVENT_STARTED, 2);
	model_submit(gpu, b, traced(dispatch(3, 10, 1, 1000)));
	t = gpu_now(gpu) + PACKET_NS;
	for (uint32_t x = 1; x < XCCS; x++) {
		struct gpu_event event = model_until(gpu, GPU_EVENT_WORKGROUPS, 3);

		assert_int_equal(event.t, t + 1000);
		assert_int_equal(event.stride, XCCS);
		assert_int_equal(event.first, x);
		assert_int_equal(event.count, x < 2 ? 3 : 2);
		seen += event.count;
	}
	struct gpu_event event = model_until(gpu, GPU_EVENT_WORKGROUPS, 3);

	assert_int_equal(event.first, 0);
	assert_int_equal(event.count, 3);
	assert_int_equal(seen + event.count, 10);
	/* The first dispatch of a started PACKET_NS before its second one. */
	assert_int_equal(event.t, t - 2 * PACKET_NS + 5000 + 1000);
	gpu_free(gpu);
}

/* Free wave slots on two CUs do not make room for one workgroup. */
static void a_workgroup_lies_on_one_cu(void **state)
{
	struct gpu_config config = model_config();

	(void)state;
	config.cus = 2;
	struct gpu *gpu = model_with(config);
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	model_submit(gpu, a, dispatch(1, 2, 6, 5000)); /* leaves 4 and 4 */
	model_submit(gpu, b, dispatch(2, 1, 4, 1000));
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + 1000);
	model_submit(gpu, b, dispatch(3, 1, 5, 1000));
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 3).t, t + 5000 + 1000);
	gpu_free(gpu);
}

/* Saved workgroups are restored on their XCC: a runlist update does not change it. */
static void restored_on_its_xcc(void **state)
{
	struct gpu *gpu = xccs_new();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_event event;

	(void)state;
	model_submit(gpu, a, dispatch(1, 1, CU_WAVE_SLOTS, 50000));
	model_submit(gpu, a, dispatch(2, 1, CU_WAVE_SLOTS, 50000));
	model_until(gpu, GPU_EVENT_STARTED, 2);
	while (gpu_step(gpu, gpu_now(gpu) + 10000, &event))
		;
	model_update(gpu, a, false);
	model_update(gpu, a, true);
	uint64_t t = gpu_now(gpu);

	model_submit(gpu, b, dispatch(3, 1, 1, 1000)); /* behind them, on XCC 0 */
	event = model_until(gpu, GPU_EVENT_RETIRED, 3);
	assert_int_equal(event.t, t + 50000 - 10000 - PACKET_NS + 1000);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_the_xccs_in_rotation),
		cmocka_unit_test(each_for_itself),
		cmocka_unit_test(a_workgroup_lies_on_one_cu),
		cmocka_unit_test(restored_on_its_xcc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
