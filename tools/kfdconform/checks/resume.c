// SPDX-License-Identifier: MIT
/* RESUME_QUEUES, and the state of a queue after it. */

#include "common/clock.h"
#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/self_debug.h"

#define UNKNOWN 900u

static struct signal *sent; /* of the packet that was submitted last */
static uint32_t ids[1025];

/* Opens a session with one queue, which is suspended and has a packet that waits. */
static void suspended(void)
{
	self_debug_open(1);
	self_debug_suspend_one(&self.queues[0]);
	sent = self_debug_send(&self.queues[0]);
}

RULE_CHECK(unknown_ids_flagged_count_0_resume, suspended())
{
	ids[0] = UNKNOWN;
	ids[1] = UNKNOWN + 1;
	CHECK_IS(self_debug_resume(ids, 2), 0);
	CHECK_IS(ids[0], UNKNOWN | SELF_DEBUG_INVALID);
	CHECK_IS(ids[1], (UNKNOWN + 1) | SELF_DEBUG_INVALID);
	CHECK(self_debug_stopped(sent));
}

RULE_CHECK(mixed_known_and_unknown_resume, self_debug_open(1))
{
	self_debug_suspend_one(&self.queues[0]);
	ids[0] = self.queues[0].id;
	ids[1] = UNKNOWN;
	CHECK_IS(self_debug_resume(ids, 2), 1);
	CHECK_IS(ids[0], self.queues[0].id);
	CHECK_IS(ids[1], UNKNOWN | SELF_DEBUG_INVALID);
	CHECK(self_debug_runs(&self.queues[0]));
}

RULE_CHECK(resume_over_1024_is_einval, suspended())
{
	for (uint32_t i = 0; i < 1025; i++)
		ids[i] = i;
	CHECK_IS(self_debug_resume(ids, 1025), -EINVAL);
	CHECK_IS(ids[1024], 1024);
	CHECK(self_debug_stopped(sent));
	CHECK_IS(self_debug_resume(ids, 1024), 1);
	CHECK(self_debug_done(sent));
}

RULE_CHECK(resume_bad_pointer_is_efault, suspended())
{
	CHECK_IS(self_debug_resume((void *)8, 1), -EFAULT);
	CHECK(self_debug_stopped(sent));
}

RULE_CHECK(resume_null_array_means_all, self_debug_open(2))
{
	struct signal *both[2];

	for (int i = 0; i < 2; i++)
		ids[i] = self.queues[i].id;
	CHECK_IS(self_debug_suspend(ids, 2), 2);
	for (int i = 0; i < 2; i++)
		both[i] = self_debug_send(&self.queues[i]);
	CHECK_IS(self_debug_resume(NULL, 0), 2);
	CHECK(self_debug_done(both[0]) && self_debug_done(both[1]));
}

RULE_CHECK(resume_null_array_ignores_the_number, self_debug_open(1))
{
	self_debug_suspend_one(&self.queues[0]);
	CHECK_IS(self_debug_resume(NULL, 5000), 1);
	CHECK(self_debug_runs(&self.queues[0]));
}

RULE_CHECK(resume_empty_array_resumes_none, suspended())
{
	CHECK_IS(self_debug_resume(ids, 0), 0);
	CHECK(self_debug_stopped(sent));
}

RULE_CHECK(resume_counts_the_never_suspended, self_debug_open(1))
{
	queue_new(&self.gpu, &self.queues[1]); /* NEW does not prevent it */
	for (int i = 0; i < 2; i++)
		ids[i] = self.queues[i].id;
	CHECK_IS(self_debug_resume(ids, 2), 2);
	CHECK_IS(ids[0], self.queues[0].id);
	CHECK_IS(ids[1], self.queues[1].id);
}

RULE_CHECK(unmatched_resume_changes_nothing, self_debug_open(1))
{
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_runs(&self.queues[0]));
	self_debug_suspend_one(&self.queues[0]); /* the unmatched resume does not count later */
	sent = self_debug_send(&self.queues[0]);
	CHECK(self_debug_stopped(sent));
}

/* Checks that a resume does not map a queue that was updated to these values. */
static void stays_off(bool ring, uint32_t percent)
{
	CHECK_IS(self_debug_update(&self.queues[0], ring, percent), 0);
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_stopped(sent));
	CHECK_IS(self_debug_update(&self.queues[0], true, 100), 0);
	CHECK(self_debug_done(sent));
}

RULE_CHECK(resume_maps_only_if_percent_permits, suspended())
{
	stays_off(true, 0);
}

RULE_CHECK(resume_maps_only_if_ring_permits, suspended())
{
	stays_off(false, 100);
}

RULE_CHECK(resume_rereads_the_write_pointer, self_debug_open(1))
{
	CHECK(self_debug_runs(&self.queues[0]));
	self_debug_suspend_one(&self.queues[0]);
	sent = self_debug_send_silently(&self.queues[0]);
	CHECK(self_debug_stopped(sent));
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_done(sent));
	CHECK_IS(*queue_rptr(&self.queues[0]), 2);
}

/* The remaining work takes as long as was left of it, in one piece or several. */
RULE_CHECK(work_goes_on_where_it_stopped, self_debug_open(1))
{
	double left, took;
	struct raw_queue *queue = &self.queues[0];
	struct signal *work = self_debug_suspend_at_work(queue, &left);
	uint64_t start = clock_ns();

	self_debug_resume_one(queue);
	self_debug_suspend_one(queue);
	self_debug_resume_one(queue);
	CHECK(self_debug_done(work));
	took = (double)(clock_ns() - start) / 1e6;
	CHECK(took >= left);
	CHECK(self_debug_runs(queue));
}
