// SPDX-License-Identifier: MIT
/*
 * Proves the interface of sim/gpu: errors, queue ids, and the guarantees of gpu_step() and
 * gpu_next().
 */
#include <errno.h>

#include "tests/unit/sim_gpu/world.h"

static void bad_configurations(void **state)
{
	struct gpu_config config = model_config();

	(void)state;
	config.cus = 0;
	assert_null(gpu_new(&config));
	config = model_config();
	config.xccs = 0;
	assert_null(gpu_new(&config));
	config.xccs = 17;
	assert_null(gpu_new(&config));
	config.xccs = 3; /* 10 CUs cannot be divided by 3 */
	assert_null(gpu_new(&config));
	config = model_config();
	config.cus = 129;
	assert_null(gpu_new(&config));
	config = model_config();
	config = model_config();
	config.wave_slots_per_cu = 64;
	assert_null(gpu_new(&config));
	config = model_config();
	config.save_bytes_us = 0;
	assert_null(gpu_new(&config));
	config = model_config();
	config.restore_bytes_us = 0;
	assert_null(gpu_new(&config));
	config = model_config();
	config.sdma_engines = 0;
	assert_null(gpu_new(&config));
}

static void unknown_queues(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_packet packet = dispatch(1, 1, 1, 1);
	struct gpu_queue_stats stats;

	(void)state;
	assert_int_equal(gpu_queue_remove(gpu, queue), 0);
	const uint32_t unknown[] = {queue, 5, UINT32_MAX};

	for (int i = 0; i < 3; i++) {
		struct gpu_change change = {.queue = unknown[i], .map = true};

		assert_int_equal(gpu_submit(gpu, unknown[i], &packet), -ENOENT);
		assert_int_equal(gpu_release(gpu, unknown[i]), -ENOENT);
		assert_int_equal(gpu_update_runlist(gpu, 1, &change, 1), -ENOENT);
		assert_int_equal(gpu_queue_remove(gpu, unknown[i]), -ENOENT);
		assert_int_equal(gpu_queue_set_priority(gpu, unknown[i], 1), -ENOENT);
		assert_int_equal(gpu_queue_set_cu_mask(gpu, unknown[i], NULL, 0), -ENOENT);
		assert_int_equal(gpu_queue_stats(gpu, unknown[i], &stats), -ENOENT);
		assert_false(gpu_queue_mapped(gpu, unknown[i]));
		assert_int_equal(gpu_queue_depth(gpu, unknown[i]), 0);
	}
	model_expect_idle(gpu); /* a refused runlist update has no effect */
	gpu_free(gpu);
}

static void bad_arguments(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_packet packet = dispatch(1, 0, 1, 1);

	(void)state;
	assert_int_equal(gpu_submit(gpu, queue, &packet), -EINVAL);
	packet = dispatch(1, 1, 0, 1);
	assert_int_equal(gpu_submit(gpu, queue, &packet), -EINVAL);
	packet.kind = (enum gpu_packet_kind)17;
	assert_int_equal(gpu_submit(gpu, queue, &packet), -EINVAL);
	assert_int_equal(model_add(gpu, (enum gpu_queue_kind)17), -EINVAL);
	assert_int_equal(gpu_update_runlist(gpu, 1, NULL, 1), -EINVAL);
	assert_int_equal(gpu_queue_set_priority(gpu, queue, 16), -EINVAL);
	assert_int_equal(gpu_queue_set_cu_mask(gpu, queue, NULL, 32), -EINVAL);
	gpu_free(gpu);
}

static void full_queue(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_packet packet = dispatch(1, 1000, 1, 100);
	uint32_t n = 0;
	int rc;

	(void)state;
	while ((rc = gpu_submit(gpu, queue, &packet)) == 0)
		n++;
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(n, 1u << 20);
	assert_int_equal(gpu_queue_depth(gpu, queue), n);
	model_until(gpu, GPU_EVENT_RETIRED, 1);
	assert_int_equal(gpu_submit(gpu, queue, &packet), 0);
	gpu_free(gpu);
}

/* Ids are dense and reused; a new queue does not inherit the state of an earlier one. */
static void ids_are_used_again(void **state)
{
	struct gpu *gpu = model_small();

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(model_queue(gpu, i % 2 ? GPU_QUEUE_SDMA : GPU_QUEUE_COMPUTE), i);
	model_submit(gpu, 42, dispatch(1, 1, 1, 1000));
	model_until(gpu, GPU_EVENT_RETIRED, 1);
	model_submit(gpu, 42, dispatch(2, 1, 1, 1000));
	assert_int_equal(gpu_queue_remove(gpu, 42), 0);
	assert_int_equal(model_add(gpu, GPU_QUEUE_COMPUTE), 42);
	assert_int_equal(gpu_queue_depth(gpu, 42), 0);
	assert_int_equal(model_stats(gpu, 42).wgs_done, 0);
	assert_false(gpu_queue_mapped(gpu, 42));
	gpu_free(gpu);
}

/* A runlist update that names a queue which is removed before it takes effect does not affect the
 * next queue with this id. */
static void removed_before_its_update(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_change off = {.queue = queue, .map = false}, on = {.queue = queue, .map = true};

	(void)state;
	assert_int_equal(gpu_update_runlist(gpu, 1, &off, 1), 0);
	assert_int_equal(gpu_update_runlist(gpu, 2, &on, 1), 0);
	assert_int_equal(gpu_queue_remove(gpu, queue), 0);
	assert_int_equal(model_add(gpu, GPU_QUEUE_COMPUTE), queue);
	model_until(gpu, GPU_EVENT_MAPPED, 2);
	assert_false(gpu_queue_mapped(gpu, queue));
	gpu_free(gpu);
}

/* gpu_step() stops at `until` and never goes back in time; gpu_next() returns the time of the next
 * event. */
static void step_and_next(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_event event;
	uint64_t t;

	(void)state;
	model_expect_idle(gpu);
	assert_false(gpu_step(gpu, 1000000, &event));
	assert_int_equal(gpu_now(gpu), 1000000);
	assert_false(gpu_step(gpu, 5, &event));
	assert_int_equal(gpu_now(gpu), 1000000);
	t = gpu_now(gpu);
	model_submit(gpu, queue, dispatch(1, 1, 1, 1000));
	assert_true(gpu_next(gpu) <= t + PACKET_NS);
	assert_false(gpu_step(gpu, t + PACKET_NS - 1, &event));
	assert_int_equal(gpu_now(gpu), t + PACKET_NS - 1);
	assert_int_equal(gpu_next(gpu), t + PACKET_NS);
	assert_true(gpu_step(gpu, t + 1000000, &event));
	assert_int_equal(event.type, GPU_EVENT_STARTED);
	assert_int_equal(gpu_now(gpu), t + PACKET_NS);
	assert_false(gpu_step(gpu, t + PACKET_NS + 999, &event));
	assert_int_equal(gpu_next(gpu), t + PACKET_NS + 1000);
	assert_true(gpu_step(gpu, t + PACKET_NS + 1000, &event));
	assert_int_equal(event.type, GPU_EVENT_RETIRED);
	assert_false(gpu_step(gpu, t + PACKET_NS + 1000, &event));
	gpu_free(gpu);
}

/* A call between two steps takes effect at the time of the last event. What becomes due by the call
 * at that very time is reported before the time advances. */
static void calls_between_steps(void **state)
{
	struct gpu_config config = model_config();
	struct gpu_event event;

	(void)state;
	config.packet_ns = config.unmap_ns = config.map_ns = 0;
	struct gpu *gpu = gpu_new(&config);
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);

	model_submit(gpu, queue, dispatch(1, 1, 1, 1000));
	uint64_t t = model_until(gpu, GPU_EVENT_RETIRED, 1).t;

	model_submit(gpu, queue, dispatch(2, 7, 1, 0));
	model_submit(gpu, queue, wait_packet(3));
	assert_int_equal(gpu_next(gpu), t);
	assert_true(gpu_step(gpu, t, &event));
	assert_int_equal(event.type, GPU_EVENT_STARTED);
	assert_int_equal(event.tag, 2);
	assert_int_equal(model_until(gpu, GPU_EVENT_WAITING, 3).t, t);
	assert_int_equal(gpu_release(gpu, queue), 0);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 3).t, t);
	assert_int_equal(gpu_update_runlist(gpu, 4, NULL, 0), 0);
	assert_int_equal(model_until(gpu, GPU_EVENT_MAPPED, 4).t, t);
	assert_false(gpu_step(gpu, t, &event));
	assert_int_equal(gpu_now(gpu), t);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_configurations), cmocka_unit_test(unknown_queues),
		cmocka_unit_test(bad_arguments),      cmocka_unit_test(full_queue),
		cmocka_unit_test(ids_are_used_again), cmocka_unit_test(removed_before_its_update),
		cmocka_unit_test(step_and_next),      cmocka_unit_test(calls_between_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
