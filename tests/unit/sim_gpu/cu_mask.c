// SPDX-License-Identifier: MIT
/*
 * Proves that CU masks confine queues, slow them down in proportion, and isolate queues on
 * different CUs.
 */
#include "tests/unit/sim_gpu/world.h"

#define LOW_HALF 0x1fu
#define HIGH_HALF 0x3e0u

static void set(struct gpu *gpu, uint32_t queue, uint32_t mask)
{
	assert_int_equal(gpu_queue_set_cu_mask(gpu, queue, &mask, 32), 0);
}

static void update(struct gpu *gpu)
{
	assert_int_equal(gpu_update_runlist(gpu, MAP_TAG, NULL, 0), 0);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
}

static void advance(struct gpu *gpu, uint64_t until)
{
	struct gpu_event event;

	while (gpu_step(gpu, until, &event))
		;
}

static void half_the_cus_half_the_speed(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);

	(void)state;
	set(gpu, queue, LOW_HALF);
	update(gpu);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	model_submit(gpu, queue, dispatch(1, 1000, 1, 10000));
	advance(gpu, t + 5000);
	assert_int_equal(gpu_live_wave_slots(gpu), WAVE_SLOTS / 2);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + 20 * 10000);
	/* And back: a mask without bits means all CUs. */
	assert_int_equal(gpu_queue_set_cu_mask(gpu, queue, NULL, 0), 0);
	update(gpu);
	t = gpu_now(gpu) + PACKET_NS;
	model_submit(gpu, queue, dispatch(2, 1000, 1, 10000));
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + 10 * 10000);
	gpu_free(gpu);
}

/* Each of two queues on different CUs is as fast as alone there, whatever the size and duration of
 * the other's workgroups. */
static void no_disturbance(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);

	(void)state;
	set(gpu, a, LOW_HALF);
	set(gpu, b, HIGH_HALF);
	update(gpu);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	for (uint64_t i = 0; i < 20; i++)
		model_submit(gpu, b, dispatch(i, 100, CU_WAVE_SLOTS, 33333));
	advance(gpu, t + 10000);
	for (uint64_t i = 0; i < 5; i++) {
		uint64_t begin = gpu_now(gpu) + PACKET_NS;

		model_submit(gpu, a, barrier_of(dispatch(100 + i, 51, 1, 1000)));
		assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 100 + i).t, begin + 2000);
	}
	gpu_free(gpu);
}

/* Queues compete only on the CUs on which their masks overlap. */
static void overlap(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);

	(void)state;
	set(gpu, b, LOW_HALF);
	update(gpu);
	uint64_t t = gpu_now(gpu);

	for (uint64_t i = 0; i < 50; i++) {
		model_submit(gpu, a, dispatch(i, 1000, 1, 10000));
		model_submit(gpu, b, dispatch(i, 1000, 1, 10000));
	}
	advance(gpu, t + 3000000);
	uint64_t of_a = model_stats(gpu, a).wave_slot_ns, of_b = model_stats(gpu, b).wave_slot_ns;

	assert_true(of_a + of_b > WAVE_SLOTS * UINT64_C(3000000) * 97 / 100);
	assert_true(of_b <= WAVE_SLOTS / 2 * UINT64_C(3000000));
	assert_true(of_a >= WAVE_SLOTS / 2 * UINT64_C(2900000));
	gpu_free(gpu);
}

/* Bit i of a mask is CU i / xccs of XCC i mod xccs. */
static void bits_go_over_the_xccs(void **state)
{
	struct gpu_config config = model_config();

	(void)state;
	config.xccs = 2; /* of 5 CUs each */
	struct gpu *gpu = model_with(config);
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);

	set(gpu, queue, 0x7); /* two CUs of XCC 0, one of XCC 1 */
	update(gpu);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	model_submit(gpu, queue, traced(dispatch(1, 4, CU_WAVE_SLOTS, 1000)));
	struct gpu_event event = model_until(gpu, GPU_EVENT_WORKGROUPS, 1);

	assert_int_equal(event.t, t + 1000);
	assert_int_equal(event.first, 0);
	assert_int_equal(event.count, 3); /* 0 and 2 on XCC 0, 1 on XCC 1; 3 waits */
	event = model_until(gpu, GPU_EVENT_WORKGROUPS, 1);
	assert_int_equal(event.t, t + 2000);
	assert_int_equal(event.first, 3);
	/* XCC 1 has no CU left: its workgroups wait for ever. */
	set(gpu, queue, 0x5);
	update(gpu);
	t = gpu_now(gpu) + PACKET_NS;
	model_submit(gpu, queue, traced(dispatch(2, 2, 1, 1000)));
	event = model_until(gpu, GPU_EVENT_WORKGROUPS, 2);
	assert_int_equal(event.first, 0);
	assert_int_equal(event.count, 1);
	model_expect_idle(gpu);
	assert_int_equal(gpu_queue_depth(gpu, queue), 1);
	set(gpu, queue, 0x3);
	update(gpu);
	t = gpu_now(gpu);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + 1000);
	gpu_free(gpu);
}

/* A mask that is set while workgroups run takes effect at the next runlist update: the workgroups
 * continue with the rest of their work on the CUs of the mask, and nothing is lost. */
static void takes_what_runs_along(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);

	(void)state;
	model_submit(gpu, queue, traced(dispatch(1, WAVE_SLOTS, 1, 10000)));
	model_until(gpu, GPU_EVENT_STARTED, 1);
	set(gpu, queue, LOW_HALF);
	advance(gpu, gpu_now(gpu) + 4000);
	assert_int_equal(gpu_live_wave_slots(gpu), WAVE_SLOTS);
	update(gpu);
	uint64_t t = gpu_now(gpu);

	advance(gpu, t);
	assert_int_equal(gpu_live_wave_slots(gpu), WAVE_SLOTS / 2);
	assert_int_equal(model_until(gpu, GPU_EVENT_WORKGROUPS, 1).t, t + 6000);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + 12000);
	assert_int_equal(model_stats(gpu, queue).wave_slot_ns, WAVE_SLOTS * 10000);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_the_cus_half_the_speed),
		cmocka_unit_test(no_disturbance),
		cmocka_unit_test(overlap),
		cmocka_unit_test(bits_go_over_the_xccs),
		cmocka_unit_test(takes_what_runs_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
