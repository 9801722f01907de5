// SPDX-License-Identifier: MIT
/*
 * Proves the cost of a runlist update ("bounce"), which queues it stops, and the order in which
 * work continues after it.
 */
#include "tests/unit/sim_gpu/world.h"

static void advance(struct gpu *gpu, uint64_t until)
{
	struct gpu_event event;

	while (gpu_step(gpu, until, &event))
		;
}

/* A runlist update stops all queues for unmap + save + map + restore, even without a change. */
static void stops_every_queue(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t c = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t d = model_queue(gpu, GPU_QUEUE_SDMA);
	uint64_t t = gpu_now(gpu);

	(void)state;
	model_submit(gpu, a, dispatch(1, 20, 1, 10000));
	model_submit(gpu, b, dispatch(2, 10, 2, 12000));
	model_submit(gpu, c, work(3, 20000));
	model_submit(gpu, d, work(4, 30000));
	advance(gpu, t + PACKET_NS + 6000);
	assert_int_equal(gpu_live_wave_slots(gpu), 40);
	assert_int_equal(gpu_update_runlist(gpu, 9, NULL, 0), 0);
	assert_int_equal(gpu_live_wave_slots(gpu), 0);
	struct gpu_event event = model_event(gpu);
	uint64_t lost = UNMAP_NS + 40 * SAVE_NS;

	assert_int_equal(event.type, GPU_EVENT_UNMAPPED);
	assert_int_equal(event.tag, 9);
	assert_int_equal(event.save_ns, 40 * SAVE_NS);
	assert_int_equal(event.t, t + PACKET_NS + 6000 + lost);
	event = model_event(gpu);
	lost += MAP_NS + 40 * RESTORE_NS;
	assert_int_equal(event.type, GPU_EVENT_MAPPED);
	assert_int_equal(event.restore_ns, 40 * RESTORE_NS);
	assert_int_equal(event.t, t + PACKET_NS + 6000 + lost);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + PACKET_NS + 10000 + lost);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + PACKET_NS + 12000 + lost);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 3).t, t + PACKET_NS + 20000 + lost);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 4).t, t + PACKET_NS + 30000 + lost);
	assert_int_equal(model_stats(gpu, a).preempted, 1);
	assert_int_equal(model_stats(gpu, c).preempted, 0);
	assert_int_equal(model_stats(gpu, a).busy_ns, 10000);
	assert_int_equal(model_stats(gpu, c).busy_ns, 20000);
	gpu_free(gpu);
}

/* The command processor's own time is interrupted and continues, too. */
static void packet_time_goes_on(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	(void)state;
	model_submit(gpu, queue, dispatch(1, 1, 1, 1000));
	advance(gpu, t + 200);
	assert_int_equal(gpu_update_runlist(gpu, 9, NULL, 0), 0);
	assert_int_equal(model_until(gpu, GPU_EVENT_STARTED, 1).t,
			 t + PACKET_NS + UNMAP_NS + MAP_NS);
	gpu_free(gpu);
}

static void costs_nothing_to_save_when_idle(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	(void)state;
	assert_int_equal(gpu_update_runlist(gpu, 9, NULL, 0), 0);
	assert_int_equal(model_event(gpu).save_ns, 0);
	struct gpu_event event = model_event(gpu);

	assert_int_equal(event.t, t + UNMAP_NS + MAP_NS);
	assert_int_equal(event.restore_ns, 0);
	assert_int_equal(model_stats(gpu, queue).preempted, 0);
	gpu_free(gpu);
}

/* The state of a queue that stays unmapped is not restored, and costs no restore before it is
 * mapped. */
static void restores_what_is_mapped(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_change off = {.queue = a, .map = false}, on = {.queue = a, .map = true};

	(void)state;
	model_submit(gpu, a, dispatch(1, 30, 1, 1000000));
	model_submit(gpu, b, dispatch(2, 10, 1, 1000000));
	model_until(gpu, GPU_EVENT_STARTED, 2);
	advance(gpu, gpu_now(gpu) + 1000);
	assert_int_equal(gpu_update_runlist(gpu, 8, &off, 1), 0);
	assert_true(gpu_queue_mapped(gpu, a));
	assert_int_equal(model_event(gpu).save_ns, 40 * SAVE_NS);
	assert_false(gpu_queue_mapped(gpu, a));
	assert_int_equal(model_event(gpu).restore_ns, 10 * RESTORE_NS);
	advance(gpu, gpu_now(gpu) + 1000);
	assert_int_equal(gpu_live_wave_slots(gpu), 10);
	assert_int_equal(gpu_update_runlist(gpu, 9, &on, 1), 0);
	assert_int_equal(model_event(gpu).save_ns, 10 * SAVE_NS);
	assert_int_equal(model_event(gpu).restore_ns, 40 * RESTORE_NS);
	advance(gpu, gpu_now(gpu) + 1000);
	assert_int_equal(gpu_live_wave_slots(gpu), 40);
	gpu_free(gpu);
}

static void one_after_another(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_change off = {.queue = queue, .map = false};
	struct gpu_change on = {.queue = queue, .map = true};
	uint64_t t = gpu_now(gpu);

	(void)state;
	model_submit(gpu, queue, dispatch(1, 1, 1, 1000000));
	advance(gpu, t + PACKET_NS + 1000);
	t = gpu_now(gpu);
	assert_int_equal(gpu_update_runlist(gpu, 1, &off, 1), 0);
	assert_int_equal(gpu_update_runlist(gpu, 2, &on, 1), 0);
	assert_int_equal(gpu_update_runlist(gpu, 3, NULL, 0), 0);
	const struct {
		enum gpu_event_type type;
		uint64_t tag, span, save_ns, restore_ns;
	} expected[] = {
		{GPU_EVENT_UNMAPPED, 1, UNMAP_NS + SAVE_NS, SAVE_NS, 0},
		{GPU_EVENT_MAPPED, 1, MAP_NS, 0, 0},
		{GPU_EVENT_UNMAPPED, 2, UNMAP_NS, 0, 0},
		{GPU_EVENT_MAPPED, 2, MAP_NS + RESTORE_NS, 0, RESTORE_NS},
		{GPU_EVENT_UNMAPPED, 3, UNMAP_NS + SAVE_NS, SAVE_NS, 0},
		{GPU_EVENT_MAPPED, 3, MAP_NS + RESTORE_NS, 0, RESTORE_NS},
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct gpu_event event = model_event(gpu);

		t += expected[i].span;
		assert_int_equal(event.type, expected[i].type);
		assert_int_equal(event.tag, expected[i].tag);
		assert_int_equal(event.t, t);
		assert_int_equal(event.save_ns, expected[i].save_ns);
		assert_int_equal(event.restore_ns, expected[i].restore_ns);
	}
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + 1000000 - 1000);
	gpu_free(gpu);
}

/* Saved workgroups get their wave slots back before new workgroups of any queue start. */
static void restored_before_anything_new(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	(void)state;
	model_submit(gpu, b, dispatch(2, 1000, 1, 40000));
	advance(gpu, t + PACKET_NS + 1000);
	model_submit(gpu, a, dispatch(1, 1000, 1, 40000));
	advance(gpu, gpu_now(gpu) + PACKET_NS);
	assert_int_equal(gpu_update_runlist(gpu, 9, NULL, 0), 0);
	model_until(gpu, GPU_EVENT_MAPPED, 9);
	advance(gpu, gpu_now(gpu) + 1000);
	assert_int_equal(gpu_live_wave_slots(gpu), WAVE_SLOTS);
	assert_int_equal(model_stats(gpu, a).wave_slot_ns, 0);
	gpu_free(gpu);
}

/* The saved state of two queues together exceeds the GPU, because one ran while the other was
 * unmapped. What was running continues. The rest follows as wave slots become free, and before new
 * workgroups. */
static void saved_state_beyond_the_gpu(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_change on = {.queue = a, .map = true};

	(void)state;
	model_submit(gpu, a, dispatch(1, 150, 1, 100000));
	model_until(gpu, GPU_EVENT_STARTED, 1);
	advance(gpu, gpu_now(gpu) + 60000);
	model_update(gpu, a, false); /* 100 workgroups saved, with 40000 ns left */
	model_submit(gpu, b, dispatch(2, 200, 1, 50000));
	model_until(gpu, GPU_EVENT_STARTED, 2);
	advance(gpu, gpu_now(gpu) + 20000); /* 100 running, with 30000 ns left */
	assert_int_equal(gpu_update_runlist(gpu, 9, &on, 1), 0);
	struct gpu_event event = model_until(gpu, GPU_EVENT_MAPPED, 9);
	uint64_t t = event.t;

	assert_int_equal(event.restore_ns, WAVE_SLOTS * RESTORE_NS);
	/* First b's 100 running workgroups, then a's saved ones, and only then new ones of both. */
	advance(gpu, t + 29999);
	assert_int_equal(model_stats(gpu, b).wgs_done, 0);
	assert_int_equal(model_stats(gpu, a).wave_slot_ns, 100 * 60000);
	advance(gpu, t + 30000);
	assert_int_equal(model_stats(gpu, b).wgs_done, 100);
	assert_int_equal(gpu_live_wave_slots(gpu), WAVE_SLOTS);
	advance(gpu, t + 69999);
	assert_int_equal(model_stats(gpu, a).wgs_done, 0);
	advance(gpu, t + 70000);
	assert_int_equal(model_stats(gpu, a).wgs_done, 100);
	assert_int_equal(gpu_live_wave_slots(gpu), WAVE_SLOTS);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + 170000);
	assert_int_equal(model_stats(gpu, a).wave_slot_ns, 150 * 100000);
	assert_int_equal(model_stats(gpu, b).wave_slot_ns, 200 * 50000);
	gpu_free(gpu);
}

/* Small new workgroups do not overtake a saved one that does not fit yet. */
static void saved_state_is_not_passed(void **state)
{
	struct gpu_config config = model_config();

	config.cus = 1;
	struct gpu *gpu = model_with(config);
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_change on = {.queue = a, .map = true};

	(void)state;
	model_submit(gpu, a, dispatch(1, 1, 6, 100000));
	model_until(gpu, GPU_EVENT_STARTED, 1);
	advance(gpu, gpu_now(gpu) + 1000);
	model_update(gpu, a, false);
	model_submit(gpu, b, dispatch(2, 1, 5, 10000));
	model_until(gpu, GPU_EVENT_STARTED, 2);
	advance(gpu, gpu_now(gpu) + 1000);
	assert_int_equal(gpu_update_runlist(gpu, 9, &on, 1), 0);
	uint64_t t = model_until(gpu, GPU_EVENT_MAPPED, 9).t;

	model_submit(gpu, b, dispatch(3, 1, 1, 10000));
	advance(gpu, t + 8999);
	assert_int_equal(gpu_live_wave_slots(gpu), 5);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 3).t, t + 9000 + 10000);
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + 9000 + 99000);
	gpu_free(gpu);
}

/* Within a queue, too, what was running continues before what still waits for wave slots. */
static void running_part_goes_on_first(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_change on = {.queue = a, .map = true};

	(void)state;
	model_submit(gpu, a, traced(dispatch(1, 100, 1, 100000)));
	model_until(gpu, GPU_EVENT_STARTED, 1);
	advance(gpu, gpu_now(gpu) + 1000);
	model_update(gpu, a, false);
	model_submit(gpu, b, dispatch(2, 40, 1, 1000000));
	model_until(gpu, GPU_EVENT_STARTED, 2);
	advance(gpu, gpu_now(gpu) + 1000);
	/* The first update restores 60 of the 100 workgroups; the second finds these 60 running. */
	assert_int_equal(gpu_update_runlist(gpu, 8, &on, 1), 0);
	model_until(gpu, GPU_EVENT_MAPPED, 8);
	advance(gpu, gpu_now(gpu) + 9000);
	assert_int_equal(gpu_update_runlist(gpu, 9, NULL, 0), 0);
	uint64_t t = model_until(gpu, GPU_EVENT_MAPPED, 9).t;
	struct gpu_event event = model_until(gpu, GPU_EVENT_WORKGROUPS, 1);

	assert_int_equal(event.first, 0);
	assert_int_equal(event.count, 60);
	assert_int_equal(event.t, t + 90000);
	event = model_until(gpu, GPU_EVENT_WORKGROUPS, 1);
	assert_int_equal(event.first, 60);
	assert_int_equal(event.count, 40);
	assert_int_equal(event.t, t + 90000 + 99000);
	gpu_free(gpu);
}

/* During a runlist update calls are accepted: packets are queued and start after it. */
static void calls_during_a_update(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_change on;

	(void)state;
	assert_int_equal(gpu_update_runlist(gpu, 8, NULL, 0), 0);
	model_submit(gpu, a, dispatch(1, 1, 1, 1000));
	int b = model_add(gpu, GPU_QUEUE_COMPUTE);

	assert_true(b >= 0);
	model_submit(gpu, (uint32_t)b, dispatch(2, 1, 1, 1000));
	assert_int_equal(model_event(gpu).type, GPU_EVENT_UNMAPPED);
	uint64_t t = model_event(gpu).t;

	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 1).t, t + PACKET_NS + 1000);
	advance(gpu, t + 1000000);
	assert_int_equal(gpu_queue_depth(gpu, (uint32_t)b), 1);
	on = (struct gpu_change){.queue = (uint32_t)b, .map = true};
	assert_int_equal(gpu_update_runlist(gpu, 9, &on, 1), 0);
	t = model_until(gpu, GPU_EVENT_MAPPED, 9).t;
	assert_int_equal(model_until(gpu, GPU_EVENT_RETIRED, 2).t, t + PACKET_NS + 1000);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_every_queue),
		cmocka_unit_test(packet_time_goes_on),
		cmocka_unit_test(costs_nothing_to_save_when_idle),
		cmocka_unit_test(restores_what_is_mapped),
		cmocka_unit_test(one_after_another),
		cmocka_unit_test(restored_before_anything_new),
		cmocka_unit_test(saved_state_beyond_the_gpu),
		cmocka_unit_test(saved_state_is_not_passed),
		cmocka_unit_test(running_part_goes_on_first),
		cmocka_unit_test(calls_during_a_update),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
