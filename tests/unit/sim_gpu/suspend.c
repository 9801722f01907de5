// SPDX-License-Identifier: MIT
/*
 * Proves that a queue that is unmapped during a dispatch keeps the rest of its work, exact to the
 * nanosecond and the workgroup.
 */
#include <string.h>

#include "tests/unit/sim_gpu/world.h"

static void advance(struct gpu *gpu, uint64_t until)
{
	struct gpu_event event;

	while (gpu_step(gpu, until, &event))
		;
}

static void keeps_what_is_left(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_event event;

	(void)state;
	model_submit(gpu, queue, dispatch(1, 1000, 1, 10000));
	model_until(gpu, GPU_EVENT_STARTED, 1);
	advance(gpu, gpu_now(gpu) + 44000);
	model_update(gpu, queue, false);
	assert_int_equal(model_stats(gpu, queue).wgs_done, 400);
	assert_false(gpu_step(gpu, gpu_now(gpu) + 1000000000, &event));
	assert_int_equal(gpu_next(gpu), UINT64_MAX);
	assert_int_equal(model_stats(gpu, queue).wgs_done, 400);
	assert_int_equal(model_stats(gpu, queue).wave_slot_ns, 44000 * WAVE_SLOTS);
	assert_int_equal(gpu_queue_depth(gpu, queue), 1);
	model_update(gpu, queue, true);
	uint64_t t = gpu_now(gpu);

	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + 56000);
	assert_int_equal(model_stats(gpu, queue).wgs_done, 1000);
	assert_int_equal(model_stats(gpu, queue).wave_slot_ns, 100000 * WAVE_SLOTS);
	assert_int_equal(model_stats(gpu, queue).preempted, 1);
	gpu_free(gpu);
}

/* Other queues have the GPU while a queue is unmapped. */
static void others_have_the_gpu(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t offline = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t online = model_queue(gpu, GPU_QUEUE_COMPUTE);

	(void)state;
	model_submit(gpu, offline, dispatch(1, 100000, 1, 500000));
	model_until(gpu, GPU_EVENT_STARTED, 1);
	advance(gpu, gpu_now(gpu) + 1000);
	model_update(gpu, offline, false);
	uint64_t t = gpu_now(gpu);

	model_submit(gpu, online, dispatch(2, 100, 1, 5000));
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + PACKET_NS + 5000);
	gpu_free(gpu);
}

#define WGS 3000u
#define DISPATCHES 40u

/* The events seen: how often each workgroup ended, and the number of retired dispatches. */
struct seen {
	uint8_t wgs[DISPATCHES][WGS];
	uint32_t retired;
};

/* Checks an event. `off`: the queue is unmapped. */
static void see_event(struct seen *seen, const struct gpu_event *event, uint32_t queue, bool off)
{
	switch (event->type) {
	case GPU_EVENT_WORKGROUPS:
		assert_false(off);
		assert_int_equal(event->queue, queue);
		assert_in_range(event->first + event->count, 1, WGS);
		for (uint32_t i = 0; i < event->count; i++)
			assert_int_equal(seen->wgs[event->tag][event->first + i]++, 0);
		break;
	case GPU_EVENT_RETIRED:
		assert_int_equal(event->tag, seen->retired++);
		for (uint32_t i = 0; i < WGS; i++)
			assert_int_equal(seen->wgs[event->tag][i], 1);
		break;
	case GPU_EVENT_STARTED:
		assert_false(off);
		break;
	case GPU_EVENT_WAITING:
	case GPU_EVENT_LOST:
	case GPU_EVENT_SLICED:
		fail_msg("nothing waits, fails or is sliced here");
		break;
	case GPU_EVENT_UNMAPPED:
	case GPU_EVENT_MAPPED:
		break;
	}
}

/* 1000 suspends and resumes at random times: no progress while the queue is unmapped, each
 * workgroup ends once, and no work is added or lost. */
static void thousand_at_random(void **state)
{
	static struct seen seen;
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t random = 1, work_left = 0;
	struct gpu_event event;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	for (uint64_t i = 0; i < DISPATCHES; i++) {
		struct gpu_packet packet =
			traced(dispatch(i, WGS, 1 + (uint32_t)(i % 3), 10000 + i * 17));

		packet.barrier = i % 4 == 0;
		work_left += (uint64_t)packet.wgs * packet.wave_slots * packet.wg_ns;
		model_submit(gpu, queue, packet);
	}
	for (int i = 0; i < 2000; i++) {
		bool off = i % 2 == 0;
		struct gpu_change change = {.queue = queue, .map = !off};
		uint64_t until = gpu_now(gpu) + model_below(&random, 15000);
		uint64_t wave_slots_before = model_stats(gpu, queue).wave_slot_ns;

		while (gpu_step(gpu, until, &event))
			see_event(&seen, &event, queue, !off);
		if (!off)
			assert_int_equal(model_stats(gpu, queue).wave_slot_ns, wave_slots_before);
		assert_int_equal(gpu_update_runlist(gpu, 9, &change, 1), 0);
		do {
			event = model_event(gpu);
			see_event(&seen, &event, queue, true);
		} while (event.type != GPU_EVENT_MAPPED);
	}
	/* the suspends interrupted the work, and did not come after its end */
	assert_true(model_stats(gpu, queue).preempted > 950);
	while (seen.retired < DISPATCHES) {
		event = model_event(gpu);
		see_event(&seen, &event, queue, false);
	}
	assert_int_equal(model_stats(gpu, queue).wgs_done, DISPATCHES * WGS);
	assert_int_equal(model_stats(gpu, queue).wave_slot_ns, work_left);
	assert_int_equal(gpu_live_wave_slots(gpu), 0);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_what_is_left),
		cmocka_unit_test(others_have_the_gpu),
		cmocka_unit_test(thousand_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
