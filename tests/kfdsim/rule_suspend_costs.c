// SPDX-License-Identifier: MIT
/*
 * rule_suspend_costs (GRACE NS)...: what a SUSPEND with that grace period costs
 * while the queue has live work, in model time, as simulation.json tells it. One
 * queue for all, so that the first pair is its first suspend.
 */
#include <jansson.h>

#include "conform/desk.h"

static json_int_t figure(const char *key)
{
	json_t *file = json_load_file("/sys/class/kfd/kfd/simulation.json", 0, NULL);
	json_int_t value = json_integer_value(json_object_get(file, key));

	CHECK(file);
	json_decref(file);
	return value;
}

/* The file is some 100 ms late. */
static json_int_t settled(void)
{
	sleep_ms(250);
	return figure("bounces");
}

static void suspend(struct desk *desk, uint32_t grace)
{
	uint32_t id = desk->queues[0].id;
	struct kfdabi_dbg_trap a = {.u.suspend = {.queue_array_ptr = (uint64_t)(uintptr_t)&id,
						  .num_queues = 1,
						  .grace_period = grace}};

	CHECK_IS(desk_trap(desk, &a, KFDABI_TRAP_SUSPEND_QUEUES), 1);
}

int main(int argc, char **argv)
{
	struct signal *work;
	struct desk desk;

	desk_open(&desk, 1);
	work = &desk.signals[desk.sent++];
	for (int i = 1; i + 1 < argc; i += 2) {
		json_int_t bounces, cost;

		if (i == 1 || !work->value) {
			work->value = 1;
			queue_work(&desk.queues[0], 4000, work);
			queue_ring(&desk.queues[0]);
		}
		bounces = settled();
		cost = figure("bounce_ns");
		suspend(&desk, (uint32_t)strtoul(argv[i], NULL, 0));
		CHECK_IS(settled() - bounces, 1);
		fprintf(stderr, "grace %s: %lld ns\n", argv[i],
			(long long)(figure("bounce_ns") - cost));
		CHECK_IS(figure("bounce_ns") - cost, atoll(argv[i + 1]));
		desk_resume_one(&desk, &desk.queues[0]);
	}
	return 0;
}
