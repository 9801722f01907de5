// SPDX-License-Identifier: MIT
/*
 * Proves that SDMA queues share engines: a queue is bound to the least loaded engine, and the
 * queues of an engine take turns packet by packet.
 */
#include <errno.h>

#include "tests/unit/sim_gpu/world.h"

#define COPY_NS 10000u

static void two_engines_run_side_by_side(void **state)
{
	struct gpu *gpu = model_small(); /* two engines */
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t b = model_queue(gpu, GPU_QUEUE_SDMA);
	uint64_t t = gpu_now(gpu);

	(void)state;
	model_submit(gpu, a, work(1, COPY_NS));
	model_submit(gpu, b, work(2, COPY_NS));
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + PACKET_NS + COPY_NS);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + PACKET_NS + COPY_NS);
	assert_int_equal(model_stats(gpu, a).wave_slot_ns, COPY_NS);
	assert_int_equal(model_stats(gpu, a).busy_ns, COPY_NS);
	gpu_free(gpu);
}

static void queues_of_an_engine_take_turns(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t b = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t c = model_queue(gpu, GPU_QUEUE_SDMA); /* on the same engine as a */
	uint64_t t = gpu_now(gpu);
	/* The packets of a are submitted first; those of c come between them. */
	const uint64_t order[] = {10, 30, 11, 31, 12, 13};

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		model_submit(gpu, a, work(10 + i, COPY_NS));
	model_submit(gpu, c, work(30, COPY_NS));
	model_submit(gpu, c, work(31, COPY_NS));
	for (uint64_t i = 0; i < 6; i++) {
		struct gpu_event event = model_until(gpu, GPU_EVENT_RETIRED, order[i]);

		assert_int_equal(event.t, t + (i + 1) * (PACKET_NS + COPY_NS));
	}
	assert_int_equal(model_stats(gpu, b).busy_ns, 0);
	gpu_free(gpu);
}

/* Three queues on one engine: each gets its turn. */
static void three_take_turns(void **state)
{
	struct gpu_config config = model_config();
	uint32_t queues[3];

	(void)state;
	config.sdma_engines = 1;
	struct gpu *gpu = gpu_new(&config);

	assert_non_null(gpu);
	for (int q = 0; q < 3; q++)
		queues[q] = model_queue(gpu, GPU_QUEUE_SDMA);
	uint64_t t = gpu_now(gpu);

	for (uint64_t i = 0; i < 3; i++)
		for (uint64_t q = 0; q < 3; q++)
			model_submit(gpu, queues[q], work(3 * i + q, COPY_NS));
	for (uint64_t i = 0; i < 9; i++)
		assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, i).t,
				 t + (i + 1) * (PACKET_NS + COPY_NS));
	gpu_free(gpu);
}

/* The engine of a removed queue becomes the least loaded one. */
static void least_loaded_after_removal(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t b = model_queue(gpu, GPU_QUEUE_SDMA);

	(void)state;
	assert_int_equal(gpu_queue_remove(gpu, b), 0);
	uint32_t c = model_queue(gpu, GPU_QUEUE_SDMA);
	uint64_t t = gpu_now(gpu);

	model_submit(gpu, a, work(1, COPY_NS));
	model_submit(gpu, c, work(2, COPY_NS));
	model_until(gpu, GPU_EVENT_RETIRED, 2);
	assert_int_equal(gpu_now(gpu), t + PACKET_NS + COPY_NS);
	gpu_free(gpu);
}

/* A queue that waits does not block the other queue of its engine. */
static void wait_leaves_the_engine(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t c;

	(void)state;
	model_queue(gpu, GPU_QUEUE_SDMA);
	c = model_queue(gpu, GPU_QUEUE_SDMA);
	model_submit(gpu, a, wait_packet(1));
	model_submit(gpu, a, work(2, COPY_NS));
	model_until(gpu, GPU_EVENT_WAITING, 1);
	model_submit(gpu, c, work(3, COPY_NS));
	model_until(gpu, GPU_EVENT_RETIRED, 3);
	assert_int_equal(gpu_release(gpu, a), 0);
	uint64_t t = gpu_now(gpu);

	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + PACKET_NS + COPY_NS);
	gpu_free(gpu);
}

/* A runlist update interrupts a copy, which then continues before that of the other queue. If its
 * queue stays unmapped, the other queue uses the engine. */
static void update_in_mid_copy(void **state)
{
	(void)state;
	for (int off = 0; off < 2; off++) {
		struct gpu *gpu = model_small();
		uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
		uint32_t c;
		struct gpu_change change = {.queue = a, .map = !off};
		struct gpu_event event;

		model_queue(gpu, GPU_QUEUE_SDMA);
		c = model_queue(gpu, GPU_QUEUE_SDMA);
		uint64_t t = gpu_now(gpu);

		model_submit(gpu, a, work(1, COPY_NS));
		model_submit(gpu, c, work(3, COPY_NS));
		while (gpu_step(gpu, t + PACKET_NS + 4000, &event))
			;
		assert_int_equal(gpu_update_runlist(gpu, 9, &change, 1), 0);
		event = model_until(gpu, GPU_EVENT_MAPPED, 9);
		assert_int_equal(event.t, t + PACKET_NS + 4000 + UNMAP_NS + MAP_NS);
		if (off) {
			event = model_until(gpu, GPU_EVENT_RETIRED, 3);
			assert_int_equal(event.t, t + 2 * PACKET_NS + 14000 + UNMAP_NS + MAP_NS);
			assert_int_equal(model_stats(gpu, a).busy_ns, 4000);
			model_update(gpu, a, true);
			t = gpu_now(gpu);
			assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + 6000);
		} else {
			event = model_until(gpu, GPU_EVENT_RETIRED, 1);
			assert_int_equal(event.t, t + PACKET_NS + COPY_NS + UNMAP_NS + MAP_NS);
			event = model_until(gpu, GPU_EVENT_RETIRED, 3);
		}
		assert_int_equal(model_stats(gpu, a).busy_ns, COPY_NS);
		gpu_free(gpu);
	}
}

/* The interrupted queue continues first, not the one that was created first. */
static void interrupted_goes_on_first(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t c;
	struct gpu_event event;

	(void)state;
	model_queue(gpu, GPU_QUEUE_SDMA);
	c = model_queue(gpu, GPU_QUEUE_SDMA);
	model_submit(gpu, c, work(3, COPY_NS));
	model_until(gpu, GPU_EVENT_STARTED, 3);
	model_submit(gpu, a, work(1, COPY_NS));
	while (gpu_step(gpu, gpu_now(gpu) + 4000, &event))
		;
	assert_int_equal(gpu_update_runlist(gpu, 9, NULL, 0), 0);
	uint64_t t = model_until(gpu, GPU_EVENT_MAPPED, 9).t;

	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 3).t, t + 6000);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + 6000 + PACKET_NS + COPY_NS);
	gpu_free(gpu);
}

static void no_dispatch_on_sdma(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_SDMA);
	struct gpu_packet packet = dispatch(1, 1, 1, 1000);

	(void)state;
	assert_int_equal(gpu_submit(gpu, queue, &packet), -EINVAL);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_engines_run_side_by_side),
		cmocka_unit_test(queues_of_an_engine_take_turns),
		cmocka_unit_test(three_take_turns),
		cmocka_unit_test(least_loaded_after_removal),
		cmocka_unit_test(wait_leaves_the_engine),
		cmocka_unit_test(update_in_mid_copy),
		cmocka_unit_test(interrupted_goes_on_first),
		cmocka_unit_test(no_dispatch_on_sdma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
