// SPDX-License-Identifier: MIT
/* Proves the order of packets within a queue: the barrier bit, overlap without it, retirement. */
#include "tests/unit/sim_gpu/world.h"

static void barrier_waits_for_all(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	(void)state;
	model_submit(gpu, queue, dispatch(1, 10, 1, 30000));
	model_submit(gpu, queue, dispatch(2, 10, 1, 1000));
	model_submit(gpu, queue, barrier_of(dispatch(3, 1, 1, 1000)));
	/* The time of a packet starts when its barrier is satisfied. */
	assert_int_equal(model_until(gpu, GPU_EVENT_STARTED, 3).t, t + 2 * PACKET_NS + 30000);
	assert_int_equal(gpu_queue_depth(gpu, queue), 1);
	gpu_free(gpu);
}

static void overlap_without_barrier(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	(void)state;
	model_submit(gpu, queue, dispatch(1, 150, 1, 30000));
	model_submit(gpu, queue, dispatch(2, 10, 1, 1000));
	/* The first dispatch launches its last workgroups with its second wave, so the second
	 * starts here. */
	assert_int_equal(model_until(gpu, GPU_EVENT_STARTED, 2).t, t + 2 * PACKET_NS + 30000);
	/* The second dispatch ends before the first, but retires after it. */
	assert_int_equal(model_stats(gpu, queue).wgs_done, 100);
	struct gpu_event event = model_event(gpu);

	assert_int_equal(event.type, GPU_EVENT_RETIRED);
	assert_int_equal(event.tag, 1);
	assert_int_equal(event.t, t + PACKET_NS + 60000);
	assert_int_equal(model_stats(gpu, queue).wgs_done, 160);
	assert_int_equal(gpu_queue_depth(gpu, queue), 1);
	event = model_event(gpu);
	assert_int_equal(event.type, GPU_EVENT_RETIRED);
	assert_int_equal(event.tag, 2);
	assert_int_equal(event.t, t + PACKET_NS + 60000);
	assert_int_equal(event.start_ns, t + 2 * PACKET_NS + 30000);
	gpu_free(gpu);
}

/* Ten dispatches run at once if they fit; with the barrier bit they run one after another. */
static void many_overlap(void **state)
{
	(void)state;
	for (int with_barrier = 0; with_barrier < 2; with_barrier++) {
		struct gpu *gpu = model_small();
		uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
		uint64_t t = gpu_now(gpu);
		struct gpu_event event = {0};

		for (uint64_t i = 0; i < 10; i++) {
			struct gpu_packet packet = dispatch(i, 10, 1, 100000);

			packet.barrier = with_barrier;
			model_submit(gpu, queue, packet);
		}
		for (uint64_t i = 0; i < 10; i++)
			event = model_until(gpu, GPU_EVENT_RETIRED, i);
		assert_int_equal(event.t, with_barrier ? t + 10 * (PACKET_NS + 100000)
						       : t + 10 * PACKET_NS + 100000);
		gpu_free(gpu);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(barrier_waits_for_all),
		cmocka_unit_test(overlap_without_barrier),
		cmocka_unit_test(many_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
