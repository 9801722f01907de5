// SPDX-License-Identifier: MIT
/* Proves new_queue_waits=1: while a session subscribes to new queues, a queue does not run until
 * the debugger has collected it. Without that subscription, and for collected queues, nothing
 * changes. */
#include "tools/kfdconform/harness/self_debug.h"

static void collect_by_query(struct desk *desk)
{
	struct kfdabi_dbg_trap a = {.u.query_event = {.exception_mask = NEW_MASK}};

	CHECK_IS(desk_trap(desk, &a, KFDABI_TRAP_QUERY_DEBUG_EVENT), 0);
	CHECK(a.u.query_event.exception_mask & NEW_MASK);
}

int main(void)
{
	struct kfdabi_dbg_trap subscribe = {.u.set_exceptions_enabled.exception_mask = NEW_MASK};
	struct signal *sent;
	struct desk desk;

	desk_open(&desk, 1);
	CHECK(desk_runs(&desk, &desk.queues[0]));
	queue_new(&desk.gpu, &desk.queues[1]);
	CHECK(desk_runs(&desk, &desk.queues[1])); /* no session subscribes */
	CHECK_IS(desk_trap(&desk, &subscribe, KFDABI_TRAP_SET_EXCEPTIONS_ENABLED), 0);

	queue_new(&desk.gpu, &desk.queues[2]);
	sent = desk_send(&desk, &desk.queues[2]);
	CHECK(!comes(&sent->value, 0, 50));
	CHECK(desk_runs(&desk, &desk.queues[0]));
	desk_collect(&desk);
	CHECK(desk_done(sent));

	queue_new(&desk.gpu, &desk.queues[3]);
	sent = desk_send(&desk, &desk.queues[3]);
	CHECK(!comes(&sent->value, 0, 50));
	collect_by_query(&desk);
	CHECK(desk_done(sent));
	return 0;
}
