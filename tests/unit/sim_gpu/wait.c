// SPDX-License-Identifier: MIT
/*
 * Proves WAIT packets: each is reported once, and holds its queue until gpu_release(), at any time.
 */
#include <errno.h>

#include "tests/unit/sim_gpu/world.h"

static void holds_until_released(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	(void)state;
	assert_int_equal(gpu_release(gpu, queue), -EINVAL);
	model_submit(gpu, queue, dispatch(1, 1, 1, 5000));
	model_submit(gpu, queue, barrier_of(wait_packet(2)));
	model_submit(gpu, queue, dispatch(3, 1, 1, 5000));
	assert_int_equal(gpu_release(gpu, queue), -EINVAL); /* not reached yet */
	assert_int_equal(model_until(gpu, GPU_EVENT_STARTED, 2).t, t + 2 * PACKET_NS + 5000);
	struct gpu_event event = model_event(gpu);

	assert_int_equal(event.type, GPU_EVENT_WAITING);
	assert_int_equal(event.tag, 2);
	assert_int_equal(event.t, t + 2 * PACKET_NS + 5000);
	assert_false(gpu_step(gpu, t + 1000000, &event));
	assert_int_equal(gpu_next(gpu), UINT64_MAX);
	assert_int_equal(gpu_release(gpu, queue), 0);
	assert_int_equal(gpu_next(gpu), t + 1000000);
	event = model_event(gpu);
	assert_int_equal(event.type, GPU_EVENT_RETIRED);
	assert_int_equal(event.tag, 2);
	assert_int_equal(event.t, t + 1000000);
	assert_int_equal(event.start_ns, t + 2 * PACKET_NS + 5000);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 3).t, t + 1000000 + PACKET_NS + 5000);
	gpu_free(gpu);
}

/* Without the barrier bit a WAIT is reached while the dispatch before it runs, and retires after
 * that dispatch. */
static void released_before_predecessor_ends(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	(void)state;
	model_submit(gpu, queue, dispatch(1, 1, 1, 50000));
	model_submit(gpu, queue, wait_packet(2));
	assert_int_equal(model_until(gpu, GPU_EVENT_WAITING, 2).t, t + 2 * PACKET_NS);
	assert_int_equal(gpu_release(gpu, queue), 0);
	struct gpu_event event = model_event(gpu);

	assert_int_equal(event.type, GPU_EVENT_RETIRED);
	assert_int_equal(event.tag, 1);
	event = model_event(gpu);
	assert_int_equal(event.tag, 2);
	assert_int_equal(event.t, t + PACKET_NS + 50000);
	gpu_free(gpu);
}

/* One release is for one WAIT. */
static void each_by_itself(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);

	(void)state;
	model_submit(gpu, queue, wait_packet(1));
	model_submit(gpu, queue, wait_packet(2));
	model_until(gpu, GPU_EVENT_WAITING, 1);
	assert_int_equal(gpu_release(gpu, queue), 0);
	model_until(gpu, GPU_EVENT_WAITING, 2);
	model_expect_idle(gpu);
	assert_int_equal(gpu_queue_depth(gpu, queue), 1);
	assert_int_equal(gpu_release(gpu, queue), 0);
	model_until(gpu, GPU_EVENT_RETIRED, 2);
	gpu_free(gpu);
}

/* A WAIT is reported only once, whatever happens; a release takes effect even while the queue is
 * unmapped. */
static void across_unmapped_times(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_change off = {.queue = queue, .map = false}, on = {.queue = queue, .map = true};
	struct gpu_event event;

	(void)state;
	model_submit(gpu, queue, wait_packet(1));
	model_until(gpu, GPU_EVENT_WAITING, 1);
	assert_int_equal(gpu_update_runlist(gpu, 7, NULL, 0), 0);
	assert_int_equal(model_event(gpu).type, GPU_EVENT_UNMAPPED);
	assert_int_equal(model_event(gpu).type, GPU_EVENT_MAPPED);
	assert_false(gpu_step(gpu, gpu_now(gpu) + 1000000, &event)); /* not reported again */
	assert_int_equal(gpu_next(gpu), UINT64_MAX);

	assert_int_equal(gpu_update_runlist(gpu, 8, &off, 1), 0);
	assert_int_equal(model_event(gpu).type, GPU_EVENT_UNMAPPED);
	assert_int_equal(gpu_release(gpu, queue), 0);
	assert_int_equal(model_event(gpu).type, GPU_EVENT_MAPPED);
	assert_false(gpu_step(gpu, gpu_now(gpu) + 1000000, &event));
	assert_int_equal(gpu_queue_depth(gpu, queue), 1);

	assert_int_equal(gpu_update_runlist(gpu, 9, &on, 1), 0);
	model_until(gpu, GPU_EVENT_MAPPED, 9);
	event = model_event(gpu);
	assert_int_equal(event.type, GPU_EVENT_RETIRED);
	assert_int_equal(event.t, gpu_now(gpu));
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_until_released),
		cmocka_unit_test(released_before_predecessor_ends),
		cmocka_unit_test(each_by_itself),
		cmocka_unit_test(across_unmapped_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
