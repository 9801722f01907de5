/* SPDX-License-Identifier: MIT */
/*
 * Fixture of the tests of sim/gpu: a small GPU of 10 CUs with 10 wave slots ("units") each and
 * round costs, and helpers to call it. A helper whose call fails fails the test.
 */
#ifndef KFDSHIM_TESTS_UNIT_SIM_GPU_MODEL_H
#define KFDSHIM_TESTS_UNIT_SIM_GPU_MODEL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* clang-format off: cmocka wants the four above first */
#include <cmocka.h>
/* clang-format on */

#include "sim/gpu/gpu.h"

#define CU_WAVE_SLOTS 10u
#define WAVE_SLOTS 100u
#define PACKET_NS 500u
#define UNMAP_NS 30000u
#define MAP_NS 20000u
/* A wave slot has 10 bytes, saved at 1 byte per microsecond and restored at 2. */
#define SAVE_NS 10000u
#define RESTORE_NS 5000u

#define MAP_TAG UINT64_C(0xb0)

/* Returns the configuration of the small GPU. */
static inline struct gpu_config model_config(void)
{
	return (struct gpu_config){
		.xccs = 1,
		.cus = WAVE_SLOTS / CU_WAVE_SLOTS,
		.wave_slots_per_cu = CU_WAVE_SLOTS,
		.packet_ns = PACKET_NS,
		.unmap_ns = UNMAP_NS,
		.map_ns = MAP_NS,
		.save_bytes_unit = 10,
		.save_bytes_us = 1,
		.restore_bytes_us = 2,
		.sdma_engines = 2,
	};
}

static inline struct gpu *model_with(struct gpu_config config)
{
	struct gpu *gpu = gpu_new(&config);

	assert_non_null(gpu);
	return gpu;
}

static inline struct gpu *model_small(void)
{
	return model_with(model_config());
}

/* Steps to the next event, however late it is. Fails the test if there is none. */
static inline struct gpu_event model_event(struct gpu *gpu)
{
	struct gpu_event event = {0};

	while (gpu_next(gpu) != UINT64_MAX)
		if (gpu_step(gpu, gpu_next(gpu), &event))
			return event;
	fail_msg("no event is to come");
	return event;
}

/* Steps to the event of that type and tag, and skips the others. */
static inline struct gpu_event model_until(struct gpu *gpu, enum gpu_event_type type, uint64_t tag)
{
	struct gpu_event event;

	do
		event = model_event(gpu);
	while (event.type != type || event.tag != tag);
	return event;
}

/* Asserts that nothing happens any more without a further call. */
static inline void model_expect_idle(struct gpu *gpu)
{
	struct gpu_event event;

	assert_false(gpu_step(gpu, gpu_now(gpu), &event));
	assert_int_equal(gpu_next(gpu), UINT64_MAX);
}

/* Executes one runlist update, from the request to its end, that maps or unmaps the queue. */
static inline void model_update(struct gpu *gpu, uint32_t queue, bool map)
{
	struct gpu_change change = {.queue = queue, .map = map};

	assert_int_equal(gpu_update_runlist(gpu, MAP_TAG, &change, 1), 0);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
}

/* Adds an unmapped queue. Returns its id or a negative errno. */
static inline int model_add(struct gpu *gpu, enum gpu_queue_kind kind)
{
	struct gpu_queue_config config = {.kind = kind, .engine = GPU_ENGINE_ANY};
	int id = gpu_queue_add(gpu, &config);

	return id;
}

/* Adds a queue and maps it. Returns its id. */
static inline uint32_t model_queue(struct gpu *gpu, enum gpu_queue_kind kind)
{
	int id = model_add(gpu, kind);

	assert_true(id >= 0);
	model_update(gpu, (uint32_t)id, true);
	return (uint32_t)id;
}

static inline void model_submit(struct gpu *gpu, uint32_t queue, struct gpu_packet packet)
{
	assert_int_equal(gpu_submit(gpu, queue, &packet), 0);
}

/* Packets to submit. wgs: workgroups; units: wave slots of each; wg_ns: duration of each. */
static inline struct gpu_packet dispatch(uint64_t tag, uint32_t wgs, uint32_t wave_slots,
					 uint64_t wg_ns)
{
	return (struct gpu_packet){
		.kind = GPU_PACKET_DISPATCH,
		.tag = tag,
		.wgs = wgs,
		.wave_slots = wave_slots,
		.wg_ns = wg_ns,
	};
}

static inline struct gpu_packet barrier_of(struct gpu_packet packet)
{
	packet.barrier = true;
	return packet;
}

static inline struct gpu_packet traced(struct gpu_packet packet)
{
	packet.trace = true;
	return packet;
}

static inline struct gpu_packet work(uint64_t tag, uint64_t busy_ns)
{
	return (struct gpu_packet){.kind = GPU_PACKET_WORK, .tag = tag, .busy_ns = busy_ns};
}

static inline struct gpu_packet wait_packet(uint64_t tag)
{
	return (struct gpu_packet){.kind = GPU_PACKET_WAIT, .tag = tag};
}

/* A pseudo-random number generator: the same numbers on every machine. */
static inline uint64_t model_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static inline uint64_t model_below(uint64_t *state, uint64_t limit)
{
	return model_random(state) % limit;
}

static inline struct gpu_queue_stats model_stats(const struct gpu *gpu, uint32_t queue)
{
	struct gpu_queue_stats stats;

	assert_int_equal(gpu_queue_stats(gpu, queue, &stats), 0);
	return stats;
}

#endif
