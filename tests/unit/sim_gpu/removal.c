// SPDX-License-Identifier: MIT
/*
 * Proves that a queue can be removed at any time and leaves nothing behind: no event, no wave slot,
 * no turn, no engine, no change in a later runlist update. The sanitizer build detects dangling
 * pointers.
 */
#include "tests/unit/sim_gpu/script.h"
#include "tests/unit/sim_gpu/world.h"

static void at_random_times(void **state)
{
	uint64_t removed = 0;

	(void)state;
	for (uint64_t seed = 100; seed < 140; seed++) {
		struct script script = {
			.seed = seed, .steps = 3000, .removals = true, .finish = seed % 2};

		removed += script_run(&script).removed;
	}
	assert_true(removed > 500);
}

/* The wave slots of a removed queue are available to others at once. */
static void frees_its_wave_slots(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_event event;

	(void)state;
	model_submit(gpu, a, dispatch(1, 1000, 1, 1000000));
	while (gpu_step(gpu, gpu_now(gpu) + 100000, &event))
		;
	model_submit(gpu, b, dispatch(2, 100, 1, 1000));
	while (gpu_step(gpu, gpu_now(gpu) + 100000, &event))
		;
	assert_int_equal(gpu_live_wave_slots(gpu), WAVE_SLOTS);
	assert_int_equal(gpu_queue_remove(gpu, a), 0);
	uint64_t t = gpu_now(gpu);

	event = model_event(gpu);
	assert_int_equal(event.type, GPU_EVENT_RETIRED);
	assert_int_equal(event.tag, 2);
	assert_int_equal(event.t, t + 1000);
	model_expect_idle(gpu);
	gpu_free(gpu);
}

/* A queue is removed between two events of the same time. */
static void between_events_of_an_instant(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		model_submit(gpu, a, traced(dispatch(10 + i, 1, 1, 10000 - i * PACKET_NS)));
		model_submit(gpu, b, traced(dispatch(20 + i, 1, 1, 10000 - i * PACKET_NS)));
	}
	model_until(gpu, GPU_EVENT_WORKGROUPS, 10);
	assert_int_equal(gpu_queue_remove(gpu, a), 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 20 + i).queue, b);
	model_expect_idle(gpu);
	assert_int_equal(gpu_live_wave_slots(gpu), 0);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_random_times),
		cmocka_unit_test(frees_its_wave_slots),
		cmocka_unit_test(between_events_of_an_instant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
