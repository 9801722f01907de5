// SPDX-License-Identifier: MIT
/*
 * Proves the time slices of an oversubscribed GPU: more clients than VMIDs, or more compute queues
 * than slots.
 */
#include "tests/unit/sim_gpu/world.h"

#define VMIDS 3u
#define SLOTS 4u
#define PROCESS_QUANTUM 10000000u
#define QUEUE_QUANTUM 1000000u
#define SWITCH_NS 50000u
#define QUEUES_MAX 8u

static struct gpu *sliced_new(void)
{
	struct gpu_config config = model_config();

	config.vmids = VMIDS;
	config.cp_queues = SLOTS;
	config.process_quantum_ns = PROCESS_QUANTUM;
	config.queue_quantum_ns = QUEUE_QUANTUM;
	config.switch_ns = SWITCH_NS;
	return model_with(config);
}

static void add(struct gpu *gpu, uint32_t *queues, uint32_t n, bool own_clients)
{
	for (uint32_t i = 0; i < n; i++) {
		struct gpu_queue_config config = {.kind = GPU_QUEUE_COMPUTE,
						  .client = own_clients ? i : 0};
		int id = gpu_queue_add(gpu, &config);

		assert_true(id >= 0);
		queues[i] = (uint32_t)id;
		model_update(gpu, queues[i], true);
	}
}

/* Starts a kernel of one whole CU (10 wave slots) on each queue; it never ends. */
static void start_all(struct gpu *gpu, const uint32_t *queues, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		model_submit(gpu, queues[i], dispatch(i, 1, CU_WAVE_SLOTS, UINT64_C(1) << 50));
}

/* Returns the number of slices that end until `until`; *cost: ns of save and restore in all of
 * them. */
static uint32_t slices(struct gpu *gpu, uint64_t until, uint64_t *cost)
{
	struct gpu_event event;
	uint32_t n = 0;

	*cost = 0;
	while (gpu_step(gpu, until, &event))
		if (event.type == GPU_EVENT_SLICED) {
			*cost += event.save_ns + event.restore_ns;
			n++;
		}
	return n;
}

static void no_slices_without(void **state)
{
	struct gpu *gpu = sliced_new();
	uint32_t queues[QUEUES_MAX];
	uint64_t cost;

	(void)state;
	add(gpu, queues, VMIDS, true);
	start_all(gpu, queues, VMIDS);
	uint64_t t = gpu_now(gpu) + PACKET_NS;

	assert_int_equal(slices(gpu, t + 200000000, &cost), 0);
	for (uint32_t i = 0; i < VMIDS; i++)
		assert_int_equal(model_stats(gpu, queues[i]).wave_slot_ns,
				 CU_WAVE_SLOTS * 200000000);
	gpu_free(gpu);
}

/* n clients or queues share `slots` slots by a quantum: all get the same share, in turn. */
static void shares(bool own_clients, uint32_t n, uint32_t slots, uint64_t quantum)
{
	struct gpu *gpu = sliced_new();
	uint32_t queues[QUEUES_MAX];
	uint64_t cost, least = UINT64_MAX, most = 0;

	add(gpu, queues, n, own_clients);
	start_all(gpu, queues, n);
	uint64_t span = 60 * quantum, t = gpu_now(gpu);
	uint32_t count = slices(gpu, t + span, &cost);
	/* The cost of stopping and starting comes on top of the quantum at each change. */
	uint64_t round = (span - cost) / count;

	assert_in_range(round, quantum + SWITCH_NS - quantum / 30,
			quantum + SWITCH_NS + quantum / 30);
	assert_true(cost > 0);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t ns = model_stats(gpu, queues[i]).wave_slot_ns / CU_WAVE_SLOTS;

		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
	}
	assert_true(least * 10 > most * 9);
	/* The quanta are complete; those that keep their slot also run during the change. */
	assert_true(least * n > count * quantum * slots * 9 / 10);
	assert_true(most * n < span * slots * 11 / 10);
	assert_true(model_stats(gpu, queues[0]).preempted > 5);
	gpu_free(gpu);
}

static void clients_rotate(void **state)
{
	(void)state;
	shares(true, VMIDS + 1, VMIDS, PROCESS_QUANTUM);
	shares(true, 2 * VMIDS, VMIDS, PROCESS_QUANTUM);
	shares(true, VMIDS + 2, VMIDS, PROCESS_QUANTUM);
}

static void queues_rotate(void **state)
{
	(void)state;
	shares(false, SLOTS + 1, SLOTS, QUEUE_QUANTUM);
	shares(false, 2 * SLOTS, SLOTS, QUEUE_QUANTUM);
}

/* A client counts while it has any queue, even an unmapped one. */
static void clients_of_queues_that_are_off_count(void **state)
{
	struct gpu *gpu = sliced_new();
	uint32_t queues[QUEUES_MAX];
	uint64_t cost;

	(void)state;
	add(gpu, queues, VMIDS + 1, true);
	model_update(gpu, queues[0], false);
	start_all(gpu, queues, VMIDS + 1);
	/* Oversubscribed by the count, but no queue waits for a slot. */
	assert_int_equal(slices(gpu, gpu_now(gpu) + 100000000, &cost), 0);
	assert_int_equal(model_stats(gpu, queues[0]).wave_slot_ns, 0);
	model_update(gpu, queues[0], true);
	assert_true(slices(gpu, gpu_now(gpu) + 100000000, &cost) > 5);
	/* Without that queue the GPU is not oversubscribed any more. */
	assert_int_equal(gpu_queue_remove(gpu, queues[0]), 0);
	assert_int_equal(gpu_update_runlist(gpu, MAP_TAG, NULL, 0), 0);
	model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
	assert_int_equal(slices(gpu, gpu_now(gpu) + 100000000, &cost), 0);
	gpu_free(gpu);
}

/* A client without packets takes no quantum from others, and is served when it has packets. */
static void idle_ones_leave_their_slot(void **state)
{
	struct gpu *gpu = sliced_new();
	uint32_t queues[QUEUES_MAX];
	uint64_t cost;

	(void)state;
	add(gpu, queues, 2 * VMIDS, true);
	start_all(gpu, queues, VMIDS - 1);
	assert_int_equal(slices(gpu, gpu_now(gpu) + 100000000, &cost), 0);
	uint64_t t = gpu_now(gpu);

	model_submit(gpu, queues[5], dispatch(50, 1, 1, 1000)); /* a queue that had no slot */
	uint64_t end = model_until(gpu, GPU_EVENT_RETIRED, 50).t;

	assert_in_range(end, t + PACKET_NS + 1000, t + SWITCH_NS + PACKET_NS + 1000);
	/* the busy queues were not disturbed */
	assert_int_equal(model_stats(gpu, queues[0]).preempted, 0);
	assert_int_equal(model_stats(gpu, queues[1]).preempted, 0);
	/* All are idle: no more events. */
	for (uint32_t i = 0; i < VMIDS - 1; i++)
		assert_int_equal(gpu_queue_remove(gpu, queues[i]), 0);
	while (gpu_next(gpu) != UINT64_MAX) {
		struct gpu_event event;

		assert_true(gpu_next(gpu) < end + 2 * PROCESS_QUANTUM);
		gpu_step(gpu, gpu_next(gpu), &event);
	}
	gpu_free(gpu);
}

/* Runlist updates that are more frequent than the quantum do not starve any client. */
static void updates_do_not_starve(void **state)
{
	struct gpu *gpu = sliced_new();
	uint32_t queues[QUEUES_MAX];
	struct gpu_event event;

	(void)state;
	add(gpu, queues, 2 * VMIDS, true);
	start_all(gpu, queues, 2 * VMIDS);
	for (int i = 0; i < 300; i++) {
		uint64_t until = gpu_now(gpu) + PROCESS_QUANTUM / 7;

		while (gpu_step(gpu, until, &event))
			;
		assert_int_equal(gpu_update_runlist(gpu, MAP_TAG, NULL, 0), 0);
		model_until(gpu, GPU_EVENT_MAPPED, MAP_TAG);
	}
	for (uint32_t i = 0; i < 2 * VMIDS; i++)
		assert_true(model_stats(gpu, queues[i]).busy_ns > 8 * PROCESS_QUANTUM);
	gpu_free(gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_slices_without),
		cmocka_unit_test(clients_rotate),
		cmocka_unit_test(queues_rotate),
		cmocka_unit_test(clients_of_queues_that_are_off_count),
		cmocka_unit_test(idle_ones_leave_their_slot),
		cmocka_unit_test(updates_do_not_starve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
