// SPDX-License-Identifier: MIT
/*
 * Proves that a dispatch alone on the GPU takes packet_ns plus the time of its waves of workgroups,
 * and that the statistics of its queue agree.
 */
#include "tests/unit/sim_gpu/world.h"

static void takes_packet_and_waves(uint32_t wgs, uint32_t wave_slots, uint64_t waves)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	model_submit(gpu, queue, dispatch(1, wgs, wave_slots, 7000));
	struct gpu_event event = model_event(gpu);

	assert_int_equal(event.type, GPU_EVENT_STARTED);
	assert_int_equal(event.t, t + PACKET_NS);
	assert_int_equal(event.queue, queue);
	event = model_event(gpu);
	assert_int_equal(event.type, GPU_EVENT_RETIRED);
	assert_int_equal(event.tag, 1);
	assert_int_equal(event.start_ns, t + PACKET_NS);
	assert_int_equal(event.t, t + PACKET_NS + waves * 7000);
	assert_int_equal(gpu_now(gpu), event.t);

	struct gpu_queue_stats stats = model_stats(gpu, queue);

	assert_int_equal(stats.wgs_done, wgs);
	assert_int_equal(stats.packets_retired, 1);
	assert_int_equal(stats.wave_slot_ns, (uint64_t)wgs * wave_slots * 7000);
	assert_int_equal(stats.busy_ns, waves * 7000);
	assert_int_equal(stats.preempted, 0);
	assert_int_equal(gpu_live_wave_slots(gpu), 0);
	assert_int_equal(gpu_queue_depth(gpu, queue), 0);
	gpu_free(gpu);
}

static void waves(void **state)
{
	(void)state;
	takes_packet_and_waves(1, 1, 1);
	takes_packet_and_waves(100, 1, 1);
	takes_packet_and_waves(101, 1, 2);
	takes_packet_and_waves(1000, 1, 10);
	takes_packet_and_waves(50, 2, 1);
	takes_packet_and_waves(51, 2, 2);
	takes_packet_and_waves(20, 4, 1);
	takes_packet_and_waves(21, 4, 2);  /* two per CU: 2 wave slots of each CU stay idle */
	takes_packet_and_waves(30, 10, 3); /* one per CU */
	takes_packet_and_waves(400000000u, 1, 4000000);
}

/* Workgroups that start together end together and are reported in one event. */
static void a_wave_is_one_event(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t next = 0;

	(void)state;
	model_submit(gpu, queue, traced(dispatch(1, 250, 1, 1000)));
	assert_int_equal(model_event(gpu).type, GPU_EVENT_STARTED);
	for (int i = 0; i < 3; i++) {
		struct gpu_event event = model_event(gpu);

		assert_int_equal(event.type, GPU_EVENT_WORKGROUPS);
		assert_int_equal(event.first, next);
		assert_int_equal(event.count, i < 2 ? 100 : 50);
		assert_int_equal(event.stride, 1);
		next += event.count;
	}
	assert_int_equal(model_event(gpu).type, GPU_EVENT_RETIRED);
	gpu_free(gpu);
}

/* A WORK packet occupies the queue's own command processor, and no wave slot. */
static void work_uses_no_unit(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t other = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	(void)state;
	model_submit(gpu, queue, work(1, 9000));
	model_submit(gpu, queue, dispatch(2, 1, 1, 1000));
	model_submit(gpu, other, dispatch(3, 100, 1, 4000));
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 3).t, t + PACKET_NS + 4000);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + PACKET_NS + 9000);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + 2 * PACKET_NS + 10000);
	assert_int_equal(model_stats(gpu, queue).wave_slot_ns, 1000);
	assert_int_equal(model_stats(gpu, queue).busy_ns, 10000);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waves),
		cmocka_unit_test(a_wave_is_one_event),
		cmocka_unit_test(work_uses_no_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
