// SPDX-License-Identifier: MIT
/*
 * Proves that the model needs few events for queues that saturate the GPU with workgroups that end
 * at different times, and that the simplification changes neither the shares of the queues nor the
 * end of a dispatch.
 */
#include <stdlib.h>

#include "tests/unit/sim_gpu/world.h"

#define EARLY_NS 500u /* limit in ns by which a workgroup may end early: sim/gpu/cohort.c */
#define MS 1000000u
#define QUEUES 3u

/* A GPU of the size of an MI210. */
static struct gpu *large(uint32_t xccs)
{
	struct gpu_config config = model_config();

	config.xccs = xccs;
	config.cus = 104;
	config.wave_slots_per_cu = 32;
	return model_with(config);
}

struct load {
	uint32_t queues, wgs, wave_slots;
	uint64_t wg_ns[QUEUES];
};

/* The result of a run of some ms. */
struct result {
	uint64_t events, retired[QUEUES];
	double wave_slot_ns[QUEUES];
};

/* Fills the queues up to 4 packets each. */
static void keep_busy(struct gpu *gpu, const uint32_t *queues, const struct load *load)
{
	for (uint32_t q = 0; q < load->queues; q++)
		while (gpu_queue_depth(gpu, queues[q]) < 4)
			model_submit(gpu, queues[q],
				     traced(barrier_of(dispatch(q, load->wgs, load->wave_slots,
								load->wg_ns[q]))));
}

static struct result saturate(const struct load *load, uint32_t xccs, uint32_t ms)
{
	struct gpu *gpu = large(xccs);
	struct result result = {0};
	uint32_t queues[QUEUES];
	struct gpu_event event;

	for (uint32_t q = 0; q < load->queues; q++)
		queues[q] = model_queue(gpu, GPU_QUEUE_COMPUTE);
	uint64_t end = gpu_now(gpu) + (uint64_t)ms * MS;

	keep_busy(gpu, queues, load);
	while (gpu_step(gpu, end, &event)) {
		result.events += event.type == GPU_EVENT_WORKGROUPS;
		if (event.type == GPU_EVENT_RETIRED)
			keep_busy(gpu, queues, load);
	}
	for (uint32_t q = 0; q < load->queues; q++) {
		result.wave_slot_ns[q] = (double)model_stats(gpu, queues[q]).wave_slot_ns;
		result.retired[q] = model_stats(gpu, queues[q]).packets_retired;
	}
	gpu_free(gpu);
	return result;
}

/* One event stands for a cohort. The first of these loads would need 86,000 events per millisecond
 * with one for each workgroup, and 16,800 with one for those that start together. */
static void two_processes_make_few_events(void **state)
{
	static const struct load loads[] = {
		{.queues = 2, .wgs = 4000, .wave_slots = 4, .wg_ns = {9000, 10373}},
		{.queues = 2, .wgs = 40000, .wave_slots = 4, .wg_ns = {2000, 2137}},
		{.queues = 2, .wgs = 400, .wave_slots = 32, .wg_ns = {2600, 31000}},
	};
	const uint32_t ms = 20, most = 2 * 1000 / EARLY_NS * 1000;

	(void)state;
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		struct result result = saturate(&loads[i], 1, ms);

		if (result.events > (uint64_t)ms * most)
			fail_msg("load %zu: %lu events in %u ms, more than %u a ms", i,
				 result.events, ms, most);
	}
}

/* The queues take turns, so each starts as many workgroups as the others. The share of a queue is
 * therefore that of its wg_ns in the sum of all, and the GPU is busy. */
static void shares_are_what_they_were(void **state)
{
	static const struct load loads[] = {
		{.queues = 2, .wgs = 4000, .wave_slots = 4, .wg_ns = {9000, 10373}},
		{.queues = 2, .wgs = 4000, .wave_slots = 4, .wg_ns = {10000, 10010}},
		{.queues = 2, .wgs = 40000, .wave_slots = 1, .wg_ns = {2000, 2137}},
		{.queues = 3, .wgs = 4000, .wave_slots = 4, .wg_ns = {9000, 10373, 11746}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		const struct load *load = &loads[i];
		struct result result = saturate(load, i % 2 ? 8 : 1, 40);
		double all = 0, wanted = 0;

		for (uint32_t q = 0; q < load->queues; q++) {
			all += result.wave_slot_ns[q];
			wanted += (double)load->wg_ns[q];
		}
		assert_true(all > 0.98 * 104 * 32 * 40 * MS && all < 1.002 * 104 * 32 * 40 * MS);
		for (uint32_t q = 0; q < load->queues; q++) {
			double share =
				result.wave_slot_ns[q] / all * wanted / (double)load->wg_ns[q];

			if (share < 0.98 || share > 1.02)
				fail_msg("load %zu: queue %u has %.3f of what it should have", i, q,
					 share);
		}
	}
}

/* Counts the wave slots held at every instant: all workgroups together hold their slots for as long
 * as they run, up to a difference at the end that the model could not make up for. */
static void no_work_is_saved(void **state)
{
	struct gpu *gpu = large(1);
	uint64_t held[QUEUES] = {0}, t, work[QUEUES] = {0};
	uint32_t queues[QUEUES];
	struct gpu_event event;

	(void)state;
	for (uint32_t q = 0; q < QUEUES; q++)
		queues[q] = model_queue(gpu, GPU_QUEUE_COMPUTE);
	for (uint32_t i = 0; i < 100; i++)
		for (uint32_t q = 0; q < QUEUES; q++) {
			uint64_t wg_ns = 3000 + q * 700;

			model_submit(gpu, queues[q], dispatch(i, 3000 + q, 4, wg_ns));
			work[q] += (uint64_t)(3000 + q) * 4 * wg_ns;
		}
	while ((t = gpu_next(gpu)) != UINT64_MAX) {
		uint64_t before = gpu_now(gpu), wave_slots[QUEUES];

		for (uint32_t q = 0; q < QUEUES; q++)
			wave_slots[q] = gpu_queue_wave_slots(gpu, queues[q]);
		while (gpu_step(gpu, t, &event))
			;
		for (uint32_t q = 0; q < QUEUES; q++)
			held[q] += wave_slots[q] * (t - before);
	}
	for (uint32_t q = 0; q < QUEUES; q++) {
		int64_t missing = (int64_t)(work[q] - held[q]);

		assert_int_equal(model_stats(gpu, queues[q]).wave_slot_ns, work[q]);
		if (llabs(missing) > 104 * 32 * (int64_t)EARLY_NS)
			fail_msg("queue %u: of %lu unit ns %ld are missing", q, work[q], missing);
	}
	gpu_free(gpu);
}

/* Two halves of the GPU with independent waves: when ends of both fall within EARLY_NS of each
 * other, neither half becomes slower or faster. */
static void halves_do_not_pull_each_other(void **state)
{
	static const uint64_t wg_ns[] = {10000, 10130};
	struct gpu *gpu = large(1);
	uint32_t queues[2];
	uint64_t t = 0;

	(void)state;
	for (uint32_t q = 0; q < 2; q++) {
		uint32_t mask[4] = {q ? 0 : UINT32_MAX, q ? 0xfff00000 : 0xfffff,
				    q ? UINT32_MAX : 0, q ? 0xff : 0};

		queues[q] = (uint32_t)model_add(gpu, GPU_QUEUE_COMPUTE);
		assert_int_equal(gpu_queue_set_cu_mask(gpu, queues[q], mask, 128), 0);
		model_update(gpu, queues[q], true);
	}
	t = gpu_now(gpu);
	for (uint32_t q = 0; q < 2; q++)
		model_submit(gpu, queues[q], dispatch(q, 52 * 1000, 32, wg_ns[q]));
	for (uint64_t q = 0; q < 2; q++) {
		uint64_t end = model_until(gpu, GPU_EVENT_RETIRED, q).t - t - PACKET_NS;

		assert_in_range(end, 1000 * wg_ns[q] - EARLY_NS, 1000 * wg_ns[q] + EARLY_NS);
	}
	gpu_free(gpu);
}

/* The end of a dispatch, for which the host waits, is exact: beside two busy queues, a kernel on
 * CUs of its own takes as long as alone. */
static void dispatches_end_in_time(void **state)
{
	const struct load crowd = {
		.queues = 2, .wgs = 4000, .wave_slots = 4, .wg_ns = {9000, 10373}};
	struct gpu *gpu = large(1);
	const uint32_t few = 0xff, others[] = {~few, UINT32_MAX, UINT32_MAX, 0xff};
	uint32_t queues[3], mine;
	struct gpu_event event;

	(void)state;
	for (uint32_t q = 0; q < 3; q++) {
		queues[q] = (uint32_t)model_add(gpu, GPU_QUEUE_COMPUTE);
		assert_int_equal(gpu_queue_set_cu_mask(gpu, queues[q], q < 2 ? others : &few,
						       q < 2 ? 128 : 32),
				 0);
		model_update(gpu, queues[q], true);
	}
	mine = queues[2];
	for (uint64_t i = 0; i < 200; i++) {
		uint32_t waves = 1 + i % 3;

		keep_busy(gpu, queues, &crowd);
		model_submit(gpu, mine, dispatch(1000 + i, 8 * waves, 32, 2600 + i));
		event = model_until(gpu, GPU_EVENT_RETIRED, 1000 + i);
		if (waves == 1)
			assert_int_equal(event.t - event.start_ns, 2600 + i);
		else
			assert_in_range(event.t - event.start_ns, waves * (2600 + i) - EARLY_NS,
					waves * (2600 + i) + EARLY_NS);
	}
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_processes_make_few_events),
		cmocka_unit_test(shares_are_what_they_were),
		cmocka_unit_test(no_work_is_saved),
		cmocka_unit_test(halves_do_not_pull_each_other),
		cmocka_unit_test(dispatches_end_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
