// SPDX-License-Identifier: MIT
/*
 * Proves behaviour that is off by default: an expensive first suspend, and the reset of a queue.
 */
#include <errno.h>

#include "tests/unit/sim_gpu/world.h"

#define FIRST_NS 12000000u

static void advance(struct gpu *gpu, uint64_t span)
{
	uint64_t until = gpu_now(gpu) + span;
	struct gpu_event event;

	while (gpu_step(gpu, until, &event))
		;
}

/* Suspends a queue. Returns the ns from the request to UNMAPPED. */
static uint64_t suspend(struct gpu *gpu, uint32_t queue)
{
	struct gpu_change off = {.queue = queue, .suspend = true};
	uint64_t t = gpu_now(gpu);

	assert_int_equal(gpu_update_runlist(gpu, 7, &off, 1), 0);
	struct gpu_event event = model_until(gpu, GPU_EVENT_UNMAPPED, 7);

	assert_int_equal(event.unmap_ns + event.save_ns, event.t - t);
	model_until(gpu, GPU_EVENT_MAPPED, 7);
	return event.t - t;
}

static void first_suspend(void **state)
{
	(void)state;
	for (int on = 0; on < 2; on++) {
		struct gpu_config config = model_config();

		config.first_suspend_ns = on ? FIRST_NS : 0;
		struct gpu *gpu = model_with(config);
		uint32_t idle = model_queue(gpu, GPU_QUEUE_COMPUTE);
		uint32_t live = model_queue(gpu, GPU_QUEUE_COMPUTE);
		uint32_t left = model_queue(gpu, GPU_QUEUE_COMPUTE);

		model_submit(gpu, live, dispatch(1, 1, 1, 1000000000));
		advance(gpu, 2 * PACKET_NS);
		/* With live state or without, the cost is charged once per queue. */
		assert_int_equal(suspend(gpu, idle), UNMAP_NS + SAVE_NS + (on ? FIRST_NS : 0));
		model_update(gpu, idle, true);
		assert_int_equal(suspend(gpu, idle), UNMAP_NS + SAVE_NS);
		assert_int_equal(suspend(gpu, live), UNMAP_NS + SAVE_NS + (on ? FIRST_NS : 0));
		/* An unmap for another reason is not a suspend. */
		uint64_t t = gpu_now(gpu);

		model_update(gpu, left, false);
		assert_int_equal(gpu_now(gpu) - t, UNMAP_NS + MAP_NS);
		gpu_free(gpu);
	}
}

/* A reset of a single queue, between unmap and map: its packets that had started are lost, its
 * other packets and all of the other queues go on. */
static void reset_of_one(void **state)
{
	struct gpu *gpu = model_with(model_config());
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_event event;

	(void)state;
	model_submit(gpu, a, dispatch(1, 10, 1, 10000));
	model_submit(gpu, a, barrier_of(dispatch(2, 1, 1, 10000)));
	model_submit(gpu, b, dispatch(3, 10, 1, 10000));
	advance(gpu, 2 * PACKET_NS);
	assert_int_equal(gpu_queue_reset(gpu, a), -EBUSY);
	assert_int_equal(gpu_queue_reset(gpu, 99), -ENOENT);
	assert_int_equal(gpu_update_runlist(gpu, 8, NULL, 0), 0);
	model_until(gpu, GPU_EVENT_UNMAPPED, 8);
	assert_int_equal(gpu_queue_reset(gpu, a), 0);
	event = model_event(gpu);
	assert_int_equal(event.type, GPU_EVENT_LOST);
	assert_int_equal(event.queue, a);
	assert_int_equal(event.tag, 1);
	assert_false(gpu_queue_mapped(gpu, a));
	model_until(gpu, GPU_EVENT_RETIRED, 3);
	assert_int_equal(gpu_queue_depth(gpu, a), 1);
	assert_int_equal(gpu_live_wave_slots(gpu), 0);
	model_update(gpu, a, true);
	model_until(gpu, GPU_EVENT_RETIRED, 2);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_suspend),
		cmocka_unit_test(reset_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
