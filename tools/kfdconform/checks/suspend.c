// SPDX-License-Identifier: MIT
/* Checks of SUSPEND_QUEUES and RESUME_QUEUES, and their effect on a queue. */
#include <string.h>

#include "common/clock.h"
#include "tools/kfdconform/checks.h"

#define UNKNOWN 900u
#define WAVE_MASK kfdabi_ec_mask(2) /* EC_QUEUE_WAVE_TRAP */

static struct signal *sent; /* signal of the packet that was submitted last */
static uint32_t id, ids[1025];

static int suspend_raw(void *array, uint32_t n, uint64_t mask)
{
	return dbg_suspend(self.gpu.kfd, self.own_pid, array, n, mask);
}

/* Opens a session with one queue, which is suspended and has a packet that waits. */
static void suspended(void)
{
	self_debug_open(1);
	self_debug_suspend_one(&self.queues[0]);
	sent = self_debug_send(&self.queues[0]);
}

static RULE_CHECK(suspend_null_array_is_einval, self_debug_open(1))
{
	CHECK_IS(suspend_raw(NULL, 1, 0), -EINVAL);
	CHECK_IS(suspend_raw(NULL, 1025, 0), -EINVAL);
	CHECK(self_debug_runs(&self.queues[0]));
}

static RULE_CHECK(suspend_null_empty_array_is_0, self_debug_open(1))
{
	CHECK_IS(suspend_raw(NULL, 0, 0), 0);
	CHECK(self_debug_runs(&self.queues[0]));
}

static RULE_CHECK(suspend_over_1024_is_einval, self_debug_open(1))
{
	for (uint32_t i = 0; i < 1025; i++)
		ids[i] = i;
	CHECK_IS(self_debug_suspend(ids, 1025), -EINVAL);
	CHECK_IS(self_debug_suspend(ids, 1024), 1);
	CHECK_IS(ids[1023], 1023 | SELF_DEBUG_INVALID);
}

static RULE_CHECK(suspend_bad_pointer_is_efault, self_debug_open(1))
{
	CHECK_IS(suspend_raw((void *)8, 1, 0), -EFAULT);
	CHECK(self_debug_runs(&self.queues[0]));
}

static RULE_CHECK(suspend_counts_and_clears_invalid, self_debug_open(2))
{
	ids[0] = self.queues[1].id;
	ids[1] = self.queues[0].id;
	CHECK_IS(self_debug_suspend(ids, 2), 2);
	CHECK_IS(ids[0], self.queues[1].id);
	CHECK_IS(ids[1], self.queues[0].id);
}

static RULE_CHECK(suspended_queue_stands_still, self_debug_open(1))
{
	double left;
	struct raw_queue *queue = &self.queues[0];
	struct signal *work = self_debug_suspend_at_work(queue, &left);
	uint64_t rptr = *queue_rptr(queue);

	CHECK(!comes(&work->value, 0, (unsigned)left + 60)); /* it would have ended by now */
	CHECK_IS(*queue_rptr(queue), rptr);
	queue_ring(queue); /* a doorbell does not start it either */
	CHECK(self_debug_stopped(work));
	self_debug_resume_one(queue);
	CHECK(self_debug_done(work));
}

static RULE_CHECK(suspend_reaches_sdma_queues, self_debug_prepare())
{
	volatile int64_t *fence;
	struct raw_queue sdma;

	self_debug_sdma(&sdma);
	self_debug_enable(0);
	self_debug_collect();
	CHECK(comes(self_debug_fence(&sdma, 1), 1, SELF_DEBUG_RUNS_MS));
	self_debug_suspend_one(&sdma);
	fence = self_debug_fence(&sdma, 2);
	CHECK(is_absent(&self.gpu, fence, 2, SELF_DEBUG_STOPPED_MS));
	self_debug_resume_one(&sdma);
	CHECK(comes(fence, 2, SELF_DEBUG_RUNS_MS));
}

static RULE_CHECK(suspend_flags_an_inactive_queue, self_debug_open(1))
{
	CHECK_IS(self_debug_update(&self.queues[0], true, 0), 0);
	self_debug_suspend_one(&self.queues[0]);
	CHECK_IS(self_debug_update(&self.queues[0], true, 100), 0);
	sent = self_debug_send(&self.queues[0]);
	CHECK(self_debug_stopped(sent));
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_done(sent));
}

static RULE_CHECK(update_of_a_suspended_queue_only_stores, suspended())
{
	CHECK_IS(self_debug_update(&self.queues[0], true, 50), 0);
	CHECK(self_debug_stopped(sent));
	CHECK_IS(self_debug_update(&self.queues[0], true, 0), 0);
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_stopped(sent)); /* the queue keeps the 0 % that it was updated to */
	CHECK_IS(self_debug_update(&self.queues[0], true, 100), 0);
	CHECK(self_debug_done(sent));
}

static RULE_CHECK(suspend_counts_the_already_suspended, self_debug_open(1))
{
	self_debug_suspend_one(&self.queues[0]);
	id = self.queues[0].id;
	CHECK_IS(self_debug_suspend(&id, 1), 1);
	CHECK_IS(id, self.queues[0].id);
	self_debug_resume_one(&self.queues[0]); /* one resume is enough: the state is a flag */
	CHECK(self_debug_runs(&self.queues[0]));
}

static RULE_CHECK(suspend_skips_new_queues, self_debug_open(0))
{
	queue_new(&self.gpu, &self.queues[0]);
	id = self.queues[0].id;
	CHECK_IS(self_debug_suspend(&id, 1), 0);
	CHECK_IS(id, self.queues[0].id | SELF_DEBUG_INVALID);
	CHECK(self_debug_runs(&self.queues[0]));
	self_debug_collect();
	self_debug_suspend_one(&self.queues[0]);
}

static RULE_CHECK(unknown_ids_flagged_count_0_suspend, self_debug_open(1))
{
	ids[0] = UNKNOWN;
	ids[1] = UNKNOWN + 1;
	CHECK_IS(self_debug_suspend(ids, 2), 0);
	CHECK_IS(ids[0], UNKNOWN | SELF_DEBUG_INVALID);
	CHECK_IS(ids[1], (UNKNOWN + 1) | SELF_DEBUG_INVALID);
	CHECK(self_debug_runs(&self.queues[0]));
}

static RULE_CHECK(mixed_known_and_unknown_suspend, self_debug_open(1))
{
	ids[0] = UNKNOWN;
	ids[1] = self.queues[0].id;
	ids[2] = UNKNOWN + 1;
	CHECK_IS(self_debug_suspend(ids, 3), 1);
	CHECK_IS(ids[0], UNKNOWN | SELF_DEBUG_INVALID);
	CHECK_IS(ids[1], self.queues[0].id);
	CHECK_IS(ids[2], (UNKNOWN + 1) | SELF_DEBUG_INVALID);
	sent = self_debug_send(&self.queues[0]);
	CHECK(self_debug_stopped(sent));
}

static RULE_CHECK(duplicate_id_stays_invalid, self_debug_open(1))
{
	ids[0] = ids[1] = self.queues[0].id;
	CHECK_IS(self_debug_suspend(ids, 2), 1);
	CHECK_IS(ids[0], self.queues[0].id);
	CHECK_IS(ids[1], self.queues[0].id | SELF_DEBUG_INVALID);
}

static RULE_CHECK(input_bit_30_never_matches, self_debug_open(1))
{
	id = self.queues[0].id | KFDABI_QUEUE_ERROR;
	CHECK_IS(self_debug_suspend(&id, 1), 0);
	CHECK_IS(id, self.queues[0].id | KFDABI_QUEUE_ERROR | SELF_DEBUG_INVALID);
	CHECK(self_debug_runs(&self.queues[0]));
}

static RULE_CHECK(input_bit_31_matches, self_debug_open(1))
{
	id = self.queues[0].id | SELF_DEBUG_INVALID;
	CHECK_IS(self_debug_suspend(&id, 1), 1);
	CHECK_IS(id, self.queues[0].id);
}

static RULE_CHECK(only_named_queue_changes, self_debug_open(2))
{
	self_debug_suspend_one(&self.queues[0]);
	CHECK(self_debug_runs(&self.queues[1]));
	self_debug_suspend_one(&self.queues[1]);
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_runs(&self.queues[0]));
	sent = self_debug_send(&self.queues[1]);
	CHECK(self_debug_stopped(sent));
}

static RULE_CHECK(queue_array_pointer_unchanged_after_call, self_debug_open(1))
{
	struct kfdabi_dbg_trap suspend = {0}, resume = {0};

	id = self.queues[0].id;
	suspend.u.suspend.exception_mask = WAVE_MASK;
	suspend.u.suspend.queue_array_ptr = (uint64_t)(uintptr_t)&id;
	suspend.u.suspend.num_queues = 1;
	suspend.u.suspend.grace_period = 7;
	CHECK_IS(self_debug_trap(&suspend, KFDABI_TRAP_SUSPEND_QUEUES), 1);
	CHECK(suspend.u.suspend.queue_array_ptr == (uint64_t)(uintptr_t)&id);
	CHECK_IS(suspend.u.suspend.exception_mask, WAVE_MASK);
	CHECK_IS(suspend.u.suspend.num_queues, 1);
	CHECK_IS(suspend.u.suspend.grace_period, 7);
	resume.u.resume.queue_array_ptr = (uint64_t)(uintptr_t)&id;
	resume.u.resume.num_queues = 1;
	CHECK_IS(self_debug_trap(&resume, KFDABI_TRAP_RESUME_QUEUES), 1);
	CHECK(resume.u.resume.queue_array_ptr == (uint64_t)(uintptr_t)&id);
	CHECK_IS(resume.u.resume.num_queues, 1);
}

static RULE_CHECK(failed_suspend_leaves_memory, self_debug_open(1))
{
	memset(ids, 0x11, sizeof ids);
	ids[0] = self.queues[0].id;
	CHECK_IS(self_debug_suspend(ids, 1025), -EINVAL);
	CHECK_IS(ids[0], self.queues[0].id);
	CHECK_IS(ids[1], 0x11111111);
	CHECK(self_debug_runs(&self.queues[0]));
}

/* Checks that SUSPEND_QUEUES does not suspend a new queue and flags its id, but clears its
 * exception NEW, so that the next call suspends it. */
static RULE_CHECK(suspend_mask_clears_new_of_the_node, self_debug_open(1))
{
	queue_new(&self.gpu, &self.queues[1]);
	ids[0] = self.queues[0].id;
	ids[1] = self.queues[1].id;
	CHECK_IS(suspend_raw(ids, 2, NEW_MASK), 1);
	CHECK_IS(ids[1], self.queues[1].id | SELF_DEBUG_INVALID);
	CHECK(self_debug_runs(&self.queues[1]));
	self_debug_suspend_one(&self.queues[1]);
}

static RULE_CHECK(suspend_mask_needs_a_success, self_debug_open(1))
{
	queue_new(&self.gpu, &self.queues[1]);
	for (int i = 0; i < 2; i++) {
		id = self.queues[1].id;
		CHECK_IS(suspend_raw(&id, 1, NEW_MASK), 0);
		CHECK_IS(id, self.queues[1].id | SELF_DEBUG_INVALID);
	}
}

static RULE_CHECK(suspend_mask_clears_only_what_it_names, self_debug_open(1))
{
	queue_new(&self.gpu, &self.queues[1]);
	ids[0] = self.queues[0].id;
	ids[1] = self.queues[1].id;
	CHECK_IS(suspend_raw(ids, 2, WAVE_MASK), 1);
	ids[1] = self.queues[1].id;
	CHECK_IS(self_debug_suspend(&ids[1], 1), 0);
}

static RULE_CHECK(any_grace_period_is_accepted, self_debug_open(1))
{
	static const uint32_t graces[] = {0, 1, 255, 256, 0x10000, KFDABI_GRACE_DEFAULT};

	for (unsigned i = 0; i < sizeof graces / sizeof *graces; i++) {
		struct kfdabi_dbg_trap a = {
			.u.suspend = {.queue_array_ptr = (uint64_t)(uintptr_t)&id,
				      .num_queues = 1,
				      .grace_period = graces[i]}};

		id = self.queues[0].id;
		CHECK_IS(self_debug_trap(&a, KFDABI_TRAP_SUSPEND_QUEUES), 1);
		self_debug_resume_one(&self.queues[0]);
	}
}

static RULE_CHECK(queue_created_after_suspend_runs, suspended())
{
	queue_new(&self.gpu, &self.queues[1]);
	CHECK(self_debug_runs(&self.queues[1]));
	CHECK_IS(sent->value, 1);
}

static RULE_CHECK(suspend_counts_queues_of_all_nodes, self_debug_open(1))
{
	struct raw_queue far;
	struct gpu_file second;

	gpu_open_too(&second, &self.gpu, 1);
	queue_new(&second, &far);
	self_debug_collect();
	ids[0] = far.id;
	ids[1] = self.queues[0].id;
	CHECK_IS(self_debug_suspend(ids, 2), 2);
	CHECK_IS(ids[0], far.id);
	CHECK_IS(ids[1], self.queues[0].id);
	sent = self_debug_send(&self.queues[0]);
	CHECK(self_debug_stopped(sent));
	CHECK_IS(self_debug_resume(NULL, 0), 2);
	CHECK(self_debug_done(sent));
}

/* ---- RESUME_QUEUES ---- */

static RULE_CHECK(unknown_ids_flagged_count_0_resume, suspended())
{
	ids[0] = UNKNOWN;
	ids[1] = UNKNOWN + 1;
	CHECK_IS(self_debug_resume(ids, 2), 0);
	CHECK_IS(ids[0], UNKNOWN | SELF_DEBUG_INVALID);
	CHECK_IS(ids[1], (UNKNOWN + 1) | SELF_DEBUG_INVALID);
	CHECK(self_debug_stopped(sent));
}

static RULE_CHECK(mixed_known_and_unknown_resume, self_debug_open(1))
{
	self_debug_suspend_one(&self.queues[0]);
	ids[0] = self.queues[0].id;
	ids[1] = UNKNOWN;
	CHECK_IS(self_debug_resume(ids, 2), 1);
	CHECK_IS(ids[0], self.queues[0].id);
	CHECK_IS(ids[1], UNKNOWN | SELF_DEBUG_INVALID);
	CHECK(self_debug_runs(&self.queues[0]));
}

static RULE_CHECK(resume_over_1024_is_einval, suspended())
{
	for (uint32_t i = 0; i < 1025; i++)
		ids[i] = i;
	CHECK_IS(self_debug_resume(ids, 1025), -EINVAL);
	CHECK_IS(ids[1024], 1024);
	CHECK(self_debug_stopped(sent));
	CHECK_IS(self_debug_resume(ids, 1024), 1);
	CHECK(self_debug_done(sent));
}

static RULE_CHECK(resume_bad_pointer_is_efault, suspended())
{
	CHECK_IS(self_debug_resume((void *)8, 1), -EFAULT);
	CHECK(self_debug_stopped(sent));
}

static RULE_CHECK(resume_null_array_means_all, self_debug_open(2))
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

static RULE_CHECK(resume_null_array_ignores_the_number, self_debug_open(1))
{
	self_debug_suspend_one(&self.queues[0]);
	CHECK_IS(self_debug_resume(NULL, 5000), 1);
	CHECK(self_debug_runs(&self.queues[0]));
}

static RULE_CHECK(resume_empty_array_resumes_none, suspended())
{
	CHECK_IS(self_debug_resume(ids, 0), 0);
	CHECK(self_debug_stopped(sent));
}

static RULE_CHECK(resume_counts_the_never_suspended, self_debug_open(1))
{
	queue_new(&self.gpu, &self.queues[1]); /* NEW does not prevent the resume */
	for (int i = 0; i < 2; i++)
		ids[i] = self.queues[i].id;
	CHECK_IS(self_debug_resume(ids, 2), 2);
	CHECK_IS(ids[0], self.queues[0].id);
	CHECK_IS(ids[1], self.queues[1].id);
}

static RULE_CHECK(unmatched_resume_changes_nothing, self_debug_open(1))
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

static RULE_CHECK(resume_maps_only_if_percent_permits, suspended())
{
	stays_off(true, 0);
}

static RULE_CHECK(resume_maps_only_if_ring_permits, suspended())
{
	stays_off(false, 100);
}

static RULE_CHECK(resume_rereads_the_write_pointer, self_debug_open(1))
{
	CHECK(self_debug_runs(&self.queues[0]));
	self_debug_suspend_one(&self.queues[0]);
	sent = self_debug_send_silently(&self.queues[0]);
	CHECK(self_debug_stopped(sent));
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_done(sent));
	CHECK_IS(*queue_rptr(&self.queues[0]), 2);
}

/* Checks that a suspended kernel continues where it stopped: after two more suspends and resumes it
 * still needs at least the time that was left of it. */
static RULE_CHECK(work_goes_on_where_it_stopped, self_debug_open(1))
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
