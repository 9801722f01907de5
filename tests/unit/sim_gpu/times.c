// SPDX-License-Identifier: MIT
/*
 * Proves the account of the GPU's time, exact to the nanosecond: work, the parts of a runlist
 * update, and the idle time while a client is suspended.
 */
#include <errno.h>

#include "tests/unit/sim_gpu/world.h"

#define OFFLINE 1u
#define ONLINE 2u
#define THIRD 3u

static struct gpu *gpu;
static struct gpu_times before;

static uint32_t add(uint64_t client, enum gpu_queue_kind kind)
{
	struct gpu_queue_config config = {.kind = kind, .client = client, .engine = GPU_ENGINE_ANY};
	int id = gpu_queue_add(gpu, &config);

	assert_true(id >= 0);
	model_update(gpu, (uint32_t)id, true);
	return (uint32_t)id;
}

/* Lets `ns` nanoseconds pass. */
static void pass(uint64_t ns)
{
	uint64_t until = gpu_now(gpu) + ns;
	struct gpu_event event;

	while (gpu_step(gpu, until, &event))
		;
}

static void suspend(uint32_t queue, bool on)
{
	struct gpu_change change = {.queue = queue, .map = !on, .suspend = on};

	assert_int_equal(gpu_update_runlist(gpu, MAP_TAG, &change, 1), 0);
}

/* Asserts the times since the last call, in the order of enum gpu_time. */
static void expect(const uint64_t (*wanted)[GPU_TIMES])
{
	struct gpu_times now;

	gpu_times(gpu, &now);
	for (unsigned i = 0; i < GPU_TIMES; i++)
		if (now.ns[i] - before.ns[i] != (*wanted)[i])
			fail_msg("time %u: %llu instead of %llu", i,
				 (unsigned long long)(now.ns[i] - before.ns[i]),
				 (unsigned long long)(*wanted)[i]);
	before = now;
}
#define EXPECT(...) expect(&(const uint64_t[GPU_TIMES]){__VA_ARGS__})

static int begin(void **state)
{
	(void)state;
	gpu = model_small();
	return 0;
}

static int end(void **state)
{
	(void)state;
	gpu_free(gpu);
	return 0;
}

static void one_suspension(void **state)
{
	uint32_t offline = add(OFFLINE, GPU_QUEUE_COMPUTE), online = add(ONLINE, GPU_QUEUE_COMPUTE);

	(void)state;
	gpu_times(gpu, &before);
	model_submit(gpu, offline, dispatch(1, 100, 1, 100000)); /* all wave slots */
	pass(PACKET_NS + 40000);
	EXPECT([GPU_TIME_RUN] = 40000, [GPU_TIME_IDLE] = PACKET_NS);

	/* The times can be read in the middle of any part. */
	suspend(offline, true);
	pass(UNMAP_NS - 1000);
	EXPECT([GPU_TIME_RUNLIST_UPDATE] = UNMAP_NS - 1000);
	pass(2000);
	EXPECT([GPU_TIME_RUNLIST_UPDATE] = 1000, [GPU_TIME_SAVE] = 1000);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
	EXPECT([GPU_TIME_RUNLIST_UPDATE] = MAP_NS, [GPU_TIME_SAVE] = 100 * SAVE_NS - 1000);

	pass(7000);
	EXPECT([GPU_TIME_HELD] = 7000);
	model_submit(gpu, online, dispatch(2, 10, 1, 3000));
	pass(8000);
	EXPECT([GPU_TIME_HELD_READY] = PACKET_NS, [GPU_TIME_RUN] = 3000,
	       [GPU_TIME_HELD] = 5000 - PACKET_NS);

	suspend(offline, false);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
	EXPECT([GPU_TIME_RUNLIST_UPDATE] = UNMAP_NS + MAP_NS, [GPU_TIME_RESTORE] =
								      100 * RESTORE_NS);
	pass(100000);
	EXPECT([GPU_TIME_RUN] = 60000, [GPU_TIME_IDLE] = 40000);
	assert_int_equal(gpu_client_run(gpu, OFFLINE).ns, 100000);
	assert_int_equal(gpu_client_run(gpu, ONLINE).ns, 3000);
	assert_int_equal(gpu_client_run(gpu, 3).ns, 0);
}

/* A suspended queue without packets holds nothing back, unless more work is expected for it. */
static void what_is_to_come_is_work(void **state)
{
	uint32_t offline = add(OFFLINE, GPU_QUEUE_COMPUTE);

	(void)state;
	suspend(offline, true);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
	gpu_times(gpu, &before);
	pass(1000);
	assert_int_equal(gpu_queue_expect(gpu, offline, true), 0);
	pass(2000);
	EXPECT([GPU_TIME_IDLE] = 1000, [GPU_TIME_HELD] = 2000);
	assert_int_equal(gpu_queue_remove(gpu, offline), 0);
	pass(500);
	EXPECT([GPU_TIME_IDLE] = 500);
	assert_int_equal(gpu_queue_expect(gpu, offline, true), -ENOENT);
}

/* The idle time beside a suspended client is HELD_READY only while another client has work that is
 * ready; work of the suspended client's other queues does not count. A queue that a runlist update
 * unmaps without a suspend is not held. */
static void whose_queues(void **state)
{
	uint32_t offline = add(OFFLINE, GPU_QUEUE_COMPUTE), copies = add(OFFLINE, GPU_QUEUE_SDMA);
	uint32_t online = add(ONLINE, GPU_QUEUE_COMPUTE);

	(void)state;
	model_submit(gpu, offline, dispatch(1, 10, 1, 100000));
	model_submit(gpu, copies, (struct gpu_packet){.kind = GPU_PACKET_WAIT, .tag = 2});
	suspend(offline, true);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
	pass(10 * PACKET_NS);
	gpu_times(gpu, &before);
	pass(1000);
	EXPECT([GPU_TIME_HELD] = 1000);
	model_submit(gpu, online, (struct gpu_packet){.kind = GPU_PACKET_WAIT, .tag = 3});
	pass(1000);
	EXPECT([GPU_TIME_HELD_READY] = 1000);

	assert_int_equal(gpu_queue_remove(gpu, online), 0);
	model_update(gpu, offline, false);
	gpu_times(gpu, &before);
	pass(1000);
	EXPECT([GPU_TIME_IDLE] = 1000);
}

/* Time in which several queues run counts once; for the clients it counts for each. */
static void together(void **state)
{
	uint32_t a = add(OFFLINE, GPU_QUEUE_COMPUTE), b = add(OFFLINE, GPU_QUEUE_COMPUTE);
	uint32_t c = add(ONLINE, GPU_QUEUE_SDMA);

	(void)state;
	gpu_times(gpu, &before);
	model_submit(gpu, a, dispatch(1, 10, 1, 1000));
	model_submit(gpu, b, dispatch(2, 10, 1, 5000));
	model_submit(gpu, c,
		     (struct gpu_packet){.kind = GPU_PACKET_WORK, .tag = 3, .busy_ns = 7000});
	pass(10000);
	EXPECT([GPU_TIME_RUN] = 7000, [GPU_TIME_IDLE] = 3000);
	assert_int_equal(gpu_client_run(gpu, OFFLINE).ns, 5000);
	assert_int_equal(gpu_client_run(gpu, ONLINE).ns, 7000);
}

/* Asserts the shares of OFFLINE, ONLINE and THIRD since the world began, in ns. */
static void expect_shares(uint64_t offline, uint64_t online, uint64_t third)
{
	assert_int_equal(gpu_client_run(gpu, OFFLINE).share_ns, offline);
	assert_int_equal(gpu_client_run(gpu, ONLINE).share_ns, online);
	assert_int_equal(gpu_client_run(gpu, THIRD).share_ns, third);
}

/* Work of one client after the other: each has all of its own run time. A client with two queues
 * counts as one. */
static void shares_of_work_rotate(void **state)
{
	uint32_t a = add(OFFLINE, GPU_QUEUE_COMPUTE), b = add(OFFLINE, GPU_QUEUE_COMPUTE);
	uint32_t c = add(ONLINE, GPU_QUEUE_COMPUTE);

	(void)state;
	model_submit(gpu, a, dispatch(1, 10, 1, 1001));
	model_submit(gpu, b, dispatch(2, 10, 1, 3003));
	pass(PACKET_NS + 2000);
	expect_shares(2000, 0, 0);
	pass(2000);
	model_submit(gpu, c, dispatch(3, 10, 1, 707));
	pass(2000);
	expect_shares(3003, 707, 0);
}

/* Work of two clients at once, read in the middle of it, too; a bounce is in no share. */
static void shares_of_two(void **state)
{
	uint32_t a = add(OFFLINE, GPU_QUEUE_COMPUTE), b = add(ONLINE, GPU_QUEUE_COMPUTE);
	struct gpu_times times;

	(void)state;
	model_submit(gpu, a, dispatch(1, 10, 1, 10000));
	pass(PACKET_NS + 1000);
	expect_shares(1000, 0, 0);
	model_submit(gpu, b, dispatch(2, 10, 1, 4000));
	pass(PACKET_NS + 2000);
	expect_shares(1000 + PACKET_NS + 1000, 1000, 0);
	suspend(b, true);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
	expect_shares(1000 + PACKET_NS + 1000, 1000, 0);
	pass(20000);
	expect_shares(9000, 1000, 0);
	suspend(b, false);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
	pass(20000);
	expect_shares(9000, 3000, 0);
	gpu_times(gpu, &times);
	assert_int_equal(times.ns[GPU_TIME_RUN], 12000);
}

/* What three cannot share in whole ns is not lost: 1000 ns for all three, 4000 for two of them,
 * 2000 for the last one. The shares go on when a client has gone. */
static void shares_of_three(void **state)
{
	uint32_t a = add(OFFLINE, GPU_QUEUE_COMPUTE), b = add(ONLINE, GPU_QUEUE_COMPUTE);
	uint32_t c = add(THIRD, GPU_QUEUE_COMPUTE);

	(void)state;
	model_submit(gpu, a, dispatch(1, 10, 1, 1000));
	model_submit(gpu, b, dispatch(2, 10, 1, 5000));
	model_submit(gpu, c, dispatch(3, 10, 1, 7000));
	pass(PACKET_NS + 500);
	expect_shares(166, 166, 166);
	pass(500);
	expect_shares(333, 333, 333);
	pass(2000);
	expect_shares(333, 1333, 1333);
	assert_int_equal(gpu_queue_remove(gpu, b), 0);
	pass(5000);
	expect_shares(333, 0, 5334);
}

#define TIMES(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TIMES(one_suspension),	TIMES(what_is_to_come_is_work), TIMES(whose_queues),
		TIMES(together),	TIMES(shares_of_work_rotate),	TIMES(shares_of_two),
		TIMES(shares_of_three),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
