// SPDX-License-Identifier: MIT
/*
 * Proves the cost of a SUSPEND while the queue has running work.
 *
 *   rule_suspend_costs (GRACE NS)...
 *
 * GRACE is the grace period, NS the expected cost in model time, as in simulation.json. All pairs
 * use one queue, so the first pair is its first suspend. GRACE "flags" means SET_FLAGS instead.
 */
#include <string.h>

#include "tools/kfdconform/harness/self_debug.h"

/* Causes one of the driver's own runlist updates for a debugger. */
static void set_flags(void)
{
	struct kfdabi_dbg_trap a = {0};

	CHECK_IS(self_debug_trap(&a, KFDABI_TRAP_SET_FLAGS), 0);
}

static void suspend(uint32_t grace)
{
	uint32_t id = self.queues[0].id;
	struct kfdabi_dbg_trap a = {.u.suspend = {.queue_array_ptr = (uint64_t)(uintptr_t)&id,
						  .num_queues = 1,
						  .grace_period = grace}};

	CHECK_IS(self_debug_trap(&a, KFDABI_TRAP_SUSPEND_QUEUES), 1);
}

int main(int argc, char **argv)
{
	struct signal *work;

	self_debug_open(2); /* so that the runlist is never empty */
	work = &self.signals[self.sent++];
	for (int i = 1; i + 1 < argc; i += 2) {
		long long cost;

		if (i == 1 || !work->value) {
			work->value = 1;
			queue_work(&self.queues[0], 20000, work);
			queue_ring(&self.queues[0]);
		}
		cost = harness_settled("bounce_ns");
		if (!strcmp(argv[i], "flags"))
			set_flags();
		else
			suspend((uint32_t)strtoul(argv[i], NULL, 0));
		cost = harness_settled("bounce_ns") - cost;
		fprintf(stderr, "grace %s: %lld ns\n", argv[i], cost);
		CHECK_IS(cost, atoll(argv[i + 1]));
		self_debug_resume_one(&self.queues[0]);
	}
	return 0;
}
