// SPDX-License-Identifier: MIT
/*
 * Proves that there are three classes of priority, that a higher one goes first, and that a change
 * takes effect at the next runlist update.
 */
#include "tests/unit/sim_gpu/world.h"

static void saturate(struct gpu *gpu, uint32_t queue)
{
	for (uint64_t i = 0; i < 100; i++)
		model_submit(gpu, queue, dispatch(i, 1000, 1, 10000));
}

static void set(struct gpu *gpu, uint32_t queue, uint32_t priority)
{
	assert_int_equal(gpu_queue_set_priority(gpu, queue, priority), 0);
}

static void update(struct gpu *gpu)
{
	assert_int_equal(gpu_update_runlist(gpu, MAP_TAG, NULL, 0), 0);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
}

/* Returns the share of `a` in what both queues use during 5 ms. */
static double share(uint32_t priority_a, uint32_t priority_b)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_event event;

	set(gpu, a, priority_a);
	set(gpu, b, priority_b);
	update(gpu);
	saturate(gpu, b);
	saturate(gpu, a);
	uint64_t end = gpu_now(gpu) + 5000000;

	while (gpu_step(gpu, end, &event))
		;
	double of_a = (double)model_stats(gpu, a).wave_slot_ns;
	double of_b = (double)model_stats(gpu, b).wave_slot_ns;

	assert_true(of_a + of_b > 0.97 * WAVE_SLOTS * 5e6);
	gpu_free(gpu);
	return of_a / (of_a + of_b);
}

/* The driver's mapping: 0-6 low, 7-10 medium, 11-15 high. */
static void classes(void **state)
{
	static const uint32_t equal[][2] = {{0, 6}, {7, 10}, {11, 15}, {7, 7}};
	static const uint32_t above[][2] = {{7, 6}, {11, 10}, {15, 0}, {10, 0}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		double equals = share(equal[i][0], equal[i][1]);

		assert_true(equals > 0.48 && equals < 0.52);
		/* The rest is what the lower queue starts between two dispatches of the higher
		 * one. */
		assert_true(share(above[i][0], above[i][1]) > 0.9);
		assert_true(share(above[i][1], above[i][0]) < 0.1);
	}
}

/* A lower class uses what a higher class leaves. */
static void the_rest_is_for_the_others(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t high = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t low = model_queue(gpu, GPU_QUEUE_COMPUTE);

	(void)state;
	set(gpu, high, 15);
	set(gpu, low, 0);
	update(gpu);
	uint64_t t = gpu_now(gpu) + PACKET_NS;
	struct gpu_event event;

	model_submit(gpu, low, dispatch(1, 1000, 1, 10000));
	model_submit(gpu, high, dispatch(2, 70, 1, 10000));
	while (gpu_step(gpu, t + 5000, &event))
		;
	assert_int_equal(model_stats(gpu, high).wave_slot_ns, 70 * 5000);
	assert_int_equal(model_stats(gpu, low).wave_slot_ns, 30 * 5000);
	gpu_free(gpu);
}

/* A kernel of a higher class behind a full GPU waits for one workgroup, and goes ahead of all that
 * the lower class has waiting. */
static void goes_ahead_of_what_waits(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t low = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t high = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_event event;

	(void)state;
	set(gpu, high, 11);
	update(gpu);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	model_submit(gpu, low, dispatch(1, 10000, 1, 10000));
	while (gpu_step(gpu, t + 5000, &event))
		;
	model_submit(gpu, high, dispatch(2, WAVE_SLOTS, 1, 1000));
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + 10000 + 1000);
	gpu_free(gpu);
}

/* A change of priority has no effect before a runlist update. */
static void from_the_next_update_on(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);
	struct gpu_event event;

	(void)state;
	saturate(gpu, a);
	saturate(gpu, b);
	set(gpu, a, 15);
	while (gpu_step(gpu, t + 2000000, &event))
		;
	uint64_t of_a = model_stats(gpu, a).wave_slot_ns, of_b = model_stats(gpu, b).wave_slot_ns;

	assert_in_range(of_a * 100 / (of_a + of_b), 48, 52);
	update(gpu);
	t = gpu_now(gpu);
	while (gpu_step(gpu, t + 2000000, &event))
		;
	of_a = model_stats(gpu, a).wave_slot_ns - of_a;
	of_b = model_stats(gpu, b).wave_slot_ns - of_b;
	assert_true(of_a > 9 * of_b);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes),
		cmocka_unit_test(the_rest_is_for_the_others),
		cmocka_unit_test(goes_ahead_of_what_waits),
		cmocka_unit_test(from_the_next_update_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
