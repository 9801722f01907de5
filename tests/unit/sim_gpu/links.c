// SPDX-License-Identifier: MIT
/*
 * Proves how copies use links: the bandwidth is shared, engines can be named, and a copy continues
 * after a runlist update.
 */
#include <errno.h>

#include "tests/unit/sim_gpu/world.h"

#define HOST_BYTES_US 25000u /* 25 bytes per ns */
#define PEER_BYTES_US 50000u
#define LOCAL_BYTES_US 400000u
#define BYTES 1000000u

static struct gpu_config links_config(void)
{
	struct gpu_config config = model_config();

	config.xgmi_engines = 2;
	config.link_bytes_us[GPU_LINK_HOST] = HOST_BYTES_US;
	config.link_bytes_us[GPU_LINK_LOCAL] = LOCAL_BYTES_US;
	config.link_bytes_us[GPU_LINK_PEER(0)] = PEER_BYTES_US;
	return config;
}

static struct gpu_packet copy(uint64_t tag, uint32_t link, uint64_t bytes)
{
	return (struct gpu_packet){
		.kind = GPU_PACKET_COPY, .tag = tag, .link = link, .bytes = bytes};
}

/* Returns the time at which the packet retires. */
static uint64_t retired_at(struct gpu *gpu, uint64_t tag)
{
	return model_until(gpu, GPU_EVENT_RETIRED, tag).t;
}

static void alone(void **state)
{
	struct gpu *gpu = model_with(links_config());
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint64_t t = gpu_now(gpu);
	struct gpu_packet packet = copy(1, GPU_LINK_HOST, BYTES);

	(void)state;
	packet.busy_ns = 700;
	model_submit(gpu, a, packet);
	assert_int_equal(retired_at(gpu, 1), t + PACKET_NS + 700 + BYTES / 25);
	assert_int_equal(model_stats(gpu, a).busy_ns, 700 + BYTES / 25);
	model_submit(gpu, a, copy(2, GPU_LINK_LOCAL, BYTES));
	t = gpu_now(gpu);
	assert_int_equal(retired_at(gpu, 2), t + PACKET_NS + BYTES / 400);
	model_submit(gpu, a, copy(3, GPU_LINK_LOCAL, 0));
	t = gpu_now(gpu);
	assert_int_equal(retired_at(gpu, 3), t + PACKET_NS);
	gpu_free(gpu);
}

/* Two engines that copy over one link get half of its bandwidth each while both copy. */
static void one_link_is_shared(void **state)
{
	struct gpu *gpu = model_with(links_config());
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t b = model_queue(gpu, GPU_QUEUE_SDMA);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	(void)state;
	model_submit(gpu, a, copy(1, GPU_LINK_HOST, BYTES));
	model_submit(gpu, b, copy(2, GPU_LINK_HOST, 3 * BYTES));
	assert_int_equal(retired_at(gpu, 1), t + 2 * BYTES / 25);
	/* From then on the second copy is alone, with 2 of its 3 parts left. */
	assert_int_equal(retired_at(gpu, 2), t + 4 * BYTES / 25);
	gpu_free(gpu);
}

static void other_links_do_not_matter(void **state)
{
	struct gpu *gpu = model_with(links_config());
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t b = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t c = model_queue(gpu, GPU_QUEUE_XGMI);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	(void)state;
	model_submit(gpu, a, copy(1, GPU_LINK_HOST, BYTES));
	model_submit(gpu, b, copy(2, GPU_LINK_LOCAL, BYTES));
	model_submit(gpu, c, copy(3, GPU_LINK_PEER(0), BYTES));
	assert_int_equal(retired_at(gpu, 2), t + BYTES / 400);
	assert_int_equal(retired_at(gpu, 3), t + BYTES / 50);
	assert_int_equal(retired_at(gpu, 1), t + BYTES / 25);
	gpu_free(gpu);
}

/* A copy is not faster than its engine, so that two can run at full speed on one link. */
static void engine_is_the_limit(void **state)
{
	struct gpu_config config = links_config();

	(void)state;
	config.engine_bytes_us = 10000;
	struct gpu *gpu = model_with(config);
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t b = model_queue(gpu, GPU_QUEUE_SDMA);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	model_submit(gpu, a, copy(1, GPU_LINK_HOST, BYTES));
	model_submit(gpu, b, copy(2, GPU_LINK_HOST, BYTES));
	assert_int_equal(retired_at(gpu, 1), t + BYTES / 10);
	assert_int_equal(retired_at(gpu, 2), t + BYTES / 10);
	gpu_free(gpu);
}

/* XGMI queues have engines of their own; a named engine is used whatever its type. */
static void engines(void **state)
{
	struct gpu *gpu = model_with(links_config()); /* 2 SDMA engines and 2 XGMI engines */
	struct gpu_queue_config named = {.kind = GPU_QUEUE_SDMA, .engine = 3};
	struct gpu_config none = model_config();
	uint32_t sdma[2], xgmi[2], other;

	(void)state;
	for (int i = 0; i < 2; i++) {
		sdma[i] = model_queue(gpu, GPU_QUEUE_SDMA);
		xgmi[i] = model_queue(gpu, GPU_QUEUE_XGMI);
	}
	int id = gpu_queue_add(gpu, &named);

	assert_true(id >= 0);
	other = (uint32_t)id;
	model_update(gpu, other, true);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	/* Each of the four queues has an engine; the named queue shares the second XGMI queue's. */
	for (uint64_t i = 0; i < 2; i++) {
		model_submit(gpu, sdma[i], work(i, 1000));
		model_submit(gpu, xgmi[i], work(10 + i, 1000));
	}
	model_submit(gpu, other, work(20, 1000));
	assert_int_equal(retired_at(gpu, 11), t + 1000);
	assert_int_equal(retired_at(gpu, 20), t + 1000 + PACKET_NS + 1000);
	assert_int_equal(model_stats(gpu, sdma[1]).packets_retired, 1);
	named.engine = 4;
	assert_int_equal(gpu_queue_add(gpu, &named), -EINVAL);
	gpu_free(gpu);

	gpu = model_with(none);
	named = (struct gpu_queue_config){.kind = GPU_QUEUE_XGMI, .engine = GPU_ENGINE_ANY};
	assert_int_equal(gpu_queue_add(gpu, &named), -EINVAL);
	gpu_free(gpu);
}

/* A runlist update interrupts copies; they continue with the rest. */
static void rest_after_a_update(void **state)
{
	struct gpu *gpu = model_with(links_config());
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t b = model_queue(gpu, GPU_QUEUE_SDMA);
	uint64_t t = gpu_now(gpu) + PACKET_NS, lost;
	struct gpu_event event;

	(void)state;
	model_submit(gpu, a, copy(1, GPU_LINK_HOST, BYTES));
	model_submit(gpu, b, copy(2, GPU_LINK_HOST, BYTES));
	while (gpu_step(gpu, t + 10000, &event))
		;
	/* 125000 bytes of each are copied; b stays unmapped, so a has the whole link. */
	model_update(gpu, b, false);
	lost = gpu_now(gpu) - (t + 10000);
	assert_int_equal(lost, UNMAP_NS + MAP_NS);
	assert_int_equal(retired_at(gpu, 1), t + 10000 + lost + (BYTES - 125000) / 25);
	model_update(gpu, b, true);
	t = gpu_now(gpu);
	assert_int_equal(retired_at(gpu, 2), t + (BYTES - 125000) / 25);
	assert_int_equal(model_stats(gpu, b).busy_ns, 10000 + (BYTES - 125000) / 25);
	gpu_free(gpu);
}

/* A removed queue leaves its share of the link to the others. */
static void removed_in_mid_copy(void **state)
{
	struct gpu *gpu = model_with(links_config());
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t b = model_queue(gpu, GPU_QUEUE_SDMA);
	uint64_t t = gpu_now(gpu) + PACKET_NS;
	struct gpu_event event;

	(void)state;
	model_submit(gpu, a, copy(1, GPU_LINK_HOST, BYTES));
	model_submit(gpu, b, copy(2, GPU_LINK_HOST, BYTES));
	while (gpu_step(gpu, t + 10000, &event))
		;
	assert_int_equal(gpu_queue_remove(gpu, b), 0);
	assert_int_equal(retired_at(gpu, 1), t + 10000 + (BYTES - 125000) / 25);
	gpu_free(gpu);
}

static void refused(void **state)
{
	struct gpu *gpu = model_with(links_config());
	uint32_t a = model_queue(gpu, GPU_QUEUE_SDMA);
	uint32_t compute = model_queue(gpu, GPU_QUEUE_COMPUTE);
	struct gpu_packet packet = copy(1, GPU_LINK_PEER(1), BYTES);

	(void)state;
	assert_int_equal(gpu_submit(gpu, a, &packet), -EINVAL); /* there is no such link */
	packet.link = GPU_LINKS_MAX;
	assert_int_equal(gpu_submit(gpu, a, &packet), -EINVAL);
	packet.link = GPU_LINK_HOST;
	assert_int_equal(gpu_submit(gpu, compute, &packet), -EINVAL);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(one_link_is_shared),
		cmocka_unit_test(other_links_do_not_matter),
		cmocka_unit_test(engine_is_the_limit),
		cmocka_unit_test(engines),
		cmocka_unit_test(rest_after_a_update),
		cmocka_unit_test(removed_in_mid_copy),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
