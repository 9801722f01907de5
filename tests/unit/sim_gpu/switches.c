// SPDX-License-Identifier: MIT
/*
 * Proves behaviour that is off by default: an expensive first suspend, preemption that is slow or
 * fails, and the reset after a failure.
 */
#include <errno.h>

#include "tests/unit/sim_gpu/world.h"

#define FIRST_NS 12000000u
#define SLOW_NS 700000u
#define TIMEOUT_NS 9000000u

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

static void slow_preemption(void **state)
{
	struct gpu_config config = model_config();

	(void)state;
	config.preempt_slow_nth = 2;
	config.preempt_slow_ns = SLOW_NS;
	struct gpu *gpu = model_with(config);
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);

	/* Runlist updates that find no live state do not count. */
	assert_int_equal(suspend(gpu, b), UNMAP_NS);
	model_submit(gpu, a, dispatch(1, 1, 1, 1000000000));
	advance(gpu, 2 * PACKET_NS);
	for (uint64_t i = 1; i <= 6; i++)
		assert_int_equal(suspend(gpu, b), UNMAP_NS + SAVE_NS + (i % 2 ? 0 : SLOW_NS));
	gpu_free(gpu);
}

static struct gpu *failing_new(void)
{
	struct gpu_config config = model_config();

	config.preempt_fail_nth = 1;
	config.preempt_timeout_ns = TIMEOUT_NS;
	return model_with(config);
}

/* The failure is reported after the timeout. Nothing runs from the request on, nor after the
 * failure, and every other runlist update fails at once. */
static void failed_preemption(void **state)
{
	struct gpu *gpu = failing_new();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t copy = model_queue(gpu, GPU_QUEUE_SDMA);
	struct gpu_change off = {.queue = b};
	struct gpu_event event;

	(void)state;
	model_submit(gpu, a, dispatch(1, 1, 1, 10000));
	model_submit(gpu, copy, work(2, 10000));
	advance(gpu, PACKET_NS + 1000);
	uint64_t t = gpu_now(gpu);

	assert_int_equal(gpu_update_runlist(gpu, 8, &off, 1), 0);
	event = model_event(gpu);
	assert_int_equal(event.type, GPU_EVENT_FAILED);
	assert_int_equal(event.tag, 8);
	assert_int_equal(event.t, t + TIMEOUT_NS);
	assert_false(gpu_queue_mapped(gpu, b)); /* the change has taken effect */
	model_expect_idle(gpu);
	model_submit(gpu, copy, work(3, 1000));
	model_expect_idle(gpu);
	assert_int_equal(gpu_update_runlist(gpu, 9, NULL, 0), 0);
	event = model_event(gpu);
	assert_int_equal(event.type, GPU_EVENT_FAILED);
	assert_int_equal(event.tag, 9);
	assert_int_equal(event.t, t + TIMEOUT_NS);
	model_expect_idle(gpu);
	assert_int_equal(model_stats(gpu, a).wgs_done, 0);
	gpu_free(gpu);
}

/* Packets that had started are lost and reported as lost, in order; the others run after the next
 * map. */
static void reset(void **state)
{
	struct gpu *gpu = failing_new();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);
	struct gpu_event event;

	(void)state;
	model_submit(gpu, a, dispatch(1, 10, 1, 10000));
	model_submit(gpu, a, dispatch(2, 200, 1, 10000));
	model_submit(gpu, a, barrier_of(dispatch(3, 1, 1, 10000)));
	model_submit(gpu, b, wait_packet(4));
	advance(gpu, 3 * PACKET_NS);
	assert_int_equal(gpu_update_runlist(gpu, 8, NULL, 0), 0);
	model_until(gpu, GPU_EVENT_FAILED, 8);
	gpu_reset(gpu);
	const struct {
		uint32_t queue;
		uint64_t tag, start;
	} lost[] = {{a, 1, PACKET_NS}, {a, 2, 2 * PACKET_NS}, {b, 4, PACKET_NS}};

	for (size_t i = 0; i < 3; i++) {
		event = model_event(gpu);
		assert_int_equal(event.type, GPU_EVENT_LOST);
		assert_int_equal(event.queue, lost[i].queue);
		assert_int_equal(event.tag, lost[i].tag);
		assert_int_equal(event.start_ns, t + lost[i].start);
		assert_int_equal(event.t, gpu_now(gpu));
	}
	model_expect_idle(gpu);
	assert_int_equal(gpu_live_wave_slots(gpu), 0);
	assert_false(gpu_queue_mapped(gpu, a));
	assert_int_equal(gpu_queue_depth(gpu, a), 1);
	assert_int_equal(gpu_queue_depth(gpu, b), 0);
	model_update(gpu, a, true); /* no state is live, so this one does not fail */
	t = gpu_now(gpu);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 3).t, t + PACKET_NS + 10000);
	gpu_free(gpu);
}

/* A caller that knows of the failure earlier can reset before the timeout. Runlist updates that are
 * queued behind the failing one are served after the reset. */
static void reset_before_the_timeout(void **state)
{
	struct gpu *gpu = failing_new();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_change on = {.queue = a, .map = true};
	struct gpu_event event;

	(void)state;
	model_submit(gpu, a, dispatch(1, 1, 1, 10000));
	advance(gpu, PACKET_NS + 1000);
	uint64_t t = gpu_now(gpu);

	assert_int_equal(gpu_update_runlist(gpu, 8, NULL, 0), 0);
	assert_int_equal(gpu_update_runlist(gpu, 9, &on, 1), 0);
	advance(gpu, TIMEOUT_NS / 2);
	gpu_reset(gpu);
	assert_int_equal(model_event(gpu).type, GPU_EVENT_LOST);
	event = model_event(gpu);
	assert_int_equal(event.type, GPU_EVENT_FAILED);
	assert_int_equal(event.tag, 8);
	assert_int_equal(event.t, t + TIMEOUT_NS / 2);
	event = model_until(gpu, GPU_EVENT_MAPPED, 9);
	assert_int_equal(event.t, t + TIMEOUT_NS / 2 + UNMAP_NS + MAP_NS);
	assert_true(gpu_queue_mapped(gpu, a));
	gpu_free(gpu);
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
		cmocka_unit_test(slow_preemption),
		cmocka_unit_test(failed_preemption),
		cmocka_unit_test(reset),
		cmocka_unit_test(reset_before_the_timeout),
		cmocka_unit_test(reset_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
