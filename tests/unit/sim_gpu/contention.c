// SPDX-License-Identifier: MIT
/* Proves how queues share wave slots: the order in which they wait, and their shares. */
#include <errno.h>

#include "tests/unit/sim_gpu/world.h"

/* A kernel of one workgroup behind a full GPU waits for the end of one workgroup of the large
 * kernel, not for the end of that kernel. */
static void small_behind_large(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t large = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t small = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_event event;

	(void)state;
	uint64_t t = gpu_now(gpu);

	model_submit(gpu, large, dispatch(1, 100000, 1, 50000));
	/* in the middle of the third wave */
	while (gpu_step(gpu, t + PACKET_NS + 120000, &event))
		;
	assert_int_equal(gpu_live_wave_slots(gpu), WAVE_SLOTS);
	model_submit(gpu, small, dispatch(2, 1, 1, 1000));
	event = model_until(gpu, GPU_EVENT_RETIRED, 2);
	assert_int_equal(event.t, t + PACKET_NS + 150000 + 1000);
	assert_int_equal(gpu_queue_depth(gpu, large), 1);
	gpu_free(gpu);
}

static void saturate(struct gpu *gpu, uint32_t queue, uint32_t wave_slots, uint64_t wg_ns)
{
	for (uint64_t i = 0; i < 200; i++)
		model_submit(gpu, queue, dispatch(i, 1000, wave_slots, wg_ns));
}

/* Asserts that two queues that saturate the GPU get equal shares of it. Per queue: wave slots and
 * ns of a workgroup. */
static void shares(uint32_t xccs, uint32_t wave_slots_a, uint64_t ns_a, uint32_t wave_slots_b,
		   uint64_t ns_b)
{
	struct gpu_config config = model_config();

	config.xccs = xccs;
	struct gpu *gpu = model_with(config);
	uint32_t a = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint32_t b = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t end = gpu_now(gpu) + 20000000;
	struct gpu_event event;

	saturate(gpu, a, wave_slots_a, ns_a);
	saturate(gpu, b, wave_slots_b, ns_b);
	while (gpu_step(gpu, end, &event))
		;
	assert_true(gpu_queue_depth(gpu, a) > 0 && gpu_queue_depth(gpu, b) > 0);
	double of_a = (double)model_stats(gpu, a).wave_slot_ns;
	double of_b = (double)model_stats(gpu, b).wave_slot_ns;

	if (of_a / (of_a + of_b) < 0.48 || of_a / (of_a + of_b) > 0.52)
		fail_msg("%u x %lu ns beside %u x %lu ns: %.3f of the units", wave_slots_a, ns_a,
			 wave_slots_b, ns_b, of_a / (of_a + of_b));
	/* together they use the whole GPU */
	assert_true(of_a + of_b > 0.97 * WAVE_SLOTS * 20000000);
	gpu_free(gpu);
}

static void equals_share_equally(void **state)
{
	(void)state;
	for (uint32_t xccs = 1; xccs <= 5; xccs += xccs == 1 ? 1 : 3) {
		shares(xccs, 1, 10000, 1, 10000);
		shares(xccs, 5, 7300, 5, 7300);
		shares(xccs, 1, 10000, 1, 10010);
	}
}

/* Queues take turns workgroup by workgroup: each of three queues with equal workgroups gets a
 * third, and a queue that needs less leaves the rest to the others. */
static void in_rotation(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queues[3];
	struct gpu_event event;

	(void)state;
	for (int i = 0; i < 3; i++)
		queues[i] = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t t = gpu_now(gpu);

	model_submit(gpu, queues[0], dispatch(0, 1000, 1, 10000));
	model_submit(gpu, queues[1], dispatch(1, 1000, 1, 10000));
	model_submit(gpu, queues[2], dispatch(2, 10, 1, 10000));
	while (gpu_step(gpu, t + PACKET_NS + 10000 - 1, &event))
		;
	assert_int_equal(model_stats(gpu, queues[0]).wave_slot_ns, 45 * 9999);
	assert_int_equal(model_stats(gpu, queues[1]).wave_slot_ns, 45 * 9999);
	assert_int_equal(model_stats(gpu, queues[2]).wave_slot_ns, 10 * 9999);
	gpu_free(gpu);
}

/* A workgroup that needs a whole CU waits, but is not starved. */
static void large_workgroup_is_not_starved(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t small[2], large;
	struct gpu_event event;

	(void)state;
	for (int i = 0; i < 2; i++)
		small[i] = model_queue(gpu, GPU_QUEUE_COMPUTE);
	large = model_queue(gpu, GPU_QUEUE_COMPUTE);
	/* Two queues whose workgroups never all end at the same time. */
	saturate(gpu, small[0], 1, 10000);
	saturate(gpu, small[1], 1, 13000);
	while (gpu_step(gpu, gpu_now(gpu) + 100000, &event))
		;
	uint64_t t = gpu_now(gpu);
	uint64_t before =
		model_stats(gpu, small[0]).wave_slot_ns + model_stats(gpu, small[1]).wave_slot_ns;

	model_submit(gpu, large, dispatch(1000, 2, CU_WAVE_SLOTS, 5000));
	event = model_until(gpu, GPU_EVENT_RETIRED, 1000);
	/* The turn of the large queue comes with the first wave slots that become free, after one
	 * more workgroup of each of the others. Then one CU drains, and the workgroup runs. The
	 * same holds for its second workgroup. Meanwhile the others use the rest of the GPU. */
	assert_in_range(event.t, t + PACKET_NS + 2 * 5000,
			t + PACKET_NS + 13000 + 2 * (13000 + 5000));
	assert_true(model_stats(gpu, small[0]).wave_slot_ns +
			    model_stats(gpu, small[1]).wave_slot_ns >
		    before + (event.t - t) * (WAVE_SLOTS - 2 * CU_WAVE_SLOTS));
	assert_true(gpu_queue_depth(gpu, small[0]) > 0);
	gpu_free(gpu);
}

static void too_large_a_workgroup(void **state)
{
	struct gpu *gpu = model_small();
	uint32_t queue = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_packet packet = dispatch(1, 1, CU_WAVE_SLOTS + 1, 1000);

	(void)state;
	assert_int_equal(gpu_submit(gpu, queue, &packet), -EINVAL);
	assert_int_equal(gpu_queue_depth(gpu, queue), 0);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_behind_large),
		cmocka_unit_test(equals_share_equally),
		cmocka_unit_test(in_rotation),
		cmocka_unit_test(large_workgroup_is_not_starved),
		cmocka_unit_test(too_large_a_workgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
