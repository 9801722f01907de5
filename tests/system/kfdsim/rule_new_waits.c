// SPDX-License-Identifier: MIT
/* Proves new_queue_waits=1: while a session subscribes to new queues, a queue does not run until
 * the debugger has collected it. Without that subscription, and for collected queues, nothing
 * changes. */
#include "tools/kfdconform/harness/self_debug.h"

static void collect_by_query(void)
{
	struct kfdabi_dbg_trap a = {.u.query_event = {.exception_mask = NEW_MASK}};

	CHECK_IS(self_debug_trap(&a, KFDABI_TRAP_QUERY_DEBUG_EVENT), 0);
	CHECK(a.u.query_event.exception_mask & NEW_MASK);
}

int main(void)
{
	struct kfdabi_dbg_trap subscribe = {.u.set_exceptions_enabled.exception_mask = NEW_MASK};
	struct signal *sent;

	self_debug_open(1);
	CHECK(self_debug_runs(&self.queues[0]));
	queue_new(&self.gpu, &self.queues[1]);
	CHECK(self_debug_runs(&self.queues[1])); /* no session subscribes */
	CHECK_IS(self_debug_trap(&subscribe, KFDABI_TRAP_SET_EXCEPTIONS_ENABLED), 0);

	queue_new(&self.gpu, &self.queues[2]);
	sent = self_debug_send(&self.queues[2]);
	CHECK(!comes(&sent->value, 0, 50));
	CHECK(self_debug_runs(&self.queues[0]));
	self_debug_collect();
	CHECK(self_debug_done(sent));

	queue_new(&self.gpu, &self.queues[3]);
	sent = self_debug_send(&self.queues[3]);
	CHECK(!comes(&sent->value, 0, 50));
	collect_by_query();
	CHECK(self_debug_done(sent));
	return 0;
}
