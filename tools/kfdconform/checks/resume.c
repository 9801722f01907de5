// SPDX-License-Identifier: MIT
/* RESUME_QUEUES, and the state of a queue after it. */
#include <time.h>

#include "common/clock.h"
#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/self_debug.h"

#define UNKNOWN 900u

void check_unknown_ids_flagged_count_0_resume(void)
{
	uint32_t ids[2] = {UNKNOWN, UNKNOWN + 1};
	struct signal *sent;
	struct desk desk;

	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	sent = desk_send(&desk, &desk.queues[0]);
	CHECK_IS(desk_resume(&desk, ids, 2), 0);
	CHECK_IS(ids[0], UNKNOWN | DESK_INVALID);
	CHECK_IS(ids[1], (UNKNOWN + 1) | DESK_INVALID);
	CHECK(desk_stands(&desk, sent));
}

void check_mixed_known_and_unknown_resume(void)
{
	struct desk desk;
	uint32_t ids[2];

	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	ids[0] = desk.queues[0].id;
	ids[1] = UNKNOWN;
	CHECK_IS(desk_resume(&desk, ids, 2), 1);
	CHECK_IS(ids[0], desk.queues[0].id);
	CHECK_IS(ids[1], UNKNOWN | DESK_INVALID);
	CHECK(desk_runs(&desk, &desk.queues[0]));
}

void check_resume_over_1024_is_einval(void)
{
	static uint32_t ids[1025];
	struct signal *sent;
	struct desk desk;

	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	sent = desk_send(&desk, &desk.queues[0]);
	for (uint32_t i = 0; i < 1025; i++)
		ids[i] = i;
	CHECK_IS(desk_resume(&desk, ids, 1025), -EINVAL);
	CHECK_IS(ids[1024], 1024);
	CHECK(desk_stands(&desk, sent));
	CHECK_IS(desk_resume(&desk, ids, 1024), 1);
	CHECK(desk_done(sent));
}

void check_resume_bad_pointer_is_efault(void)
{
	struct signal *sent;
	struct desk desk;

	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	sent = desk_send(&desk, &desk.queues[0]);
	CHECK_IS(desk_resume(&desk, (void *)8, 1), -EFAULT);
	CHECK(desk_stands(&desk, sent));
}

void check_resume_null_array_means_all(void)
{
	struct signal *sent[2];
	struct desk desk;
	uint32_t ids[2];

	desk_open(&desk, 2);
	for (int i = 0; i < 2; i++)
		ids[i] = desk.queues[i].id;
	CHECK_IS(desk_suspend(&desk, ids, 2), 2);
	for (int i = 0; i < 2; i++)
		sent[i] = desk_send(&desk, &desk.queues[i]);
	CHECK_IS(desk_resume(&desk, NULL, 0), 2);
	CHECK(desk_done(sent[0]) && desk_done(sent[1]));
}

void check_resume_null_array_ignores_the_number(void)
{
	struct desk desk;

	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	CHECK_IS(desk_resume(&desk, NULL, 5000), 1);
	CHECK(desk_runs(&desk, &desk.queues[0]));
}

void check_resume_empty_array_resumes_none(void)
{
	struct signal *sent;
	struct desk desk;
	uint32_t id = 0;

	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	sent = desk_send(&desk, &desk.queues[0]);
	CHECK_IS(desk_resume(&desk, &id, 0), 0);
	CHECK(desk_stands(&desk, sent));
}

void check_resume_counts_the_never_suspended(void)
{
	struct desk desk;
	uint32_t ids[2];

	desk_open(&desk, 1);
	queue_new(&desk.gpu, &desk.queues[1]); /* NEW does not prevent it */
	for (int i = 0; i < 2; i++)
		ids[i] = desk.queues[i].id;
	CHECK_IS(desk_resume(&desk, ids, 2), 2);
	CHECK_IS(ids[0], desk.queues[0].id);
	CHECK_IS(ids[1], desk.queues[1].id);
}

void check_unmatched_resume_changes_nothing(void)
{
	struct signal *sent;
	struct desk desk;

	desk_open(&desk, 1);
	desk_resume_one(&desk, &desk.queues[0]);
	CHECK(desk_runs(&desk, &desk.queues[0]));
	desk_suspend_one(&desk, &desk.queues[0]); /* the unmatched resume does not count later */
	sent = desk_send(&desk, &desk.queues[0]);
	CHECK(desk_stands(&desk, sent));
}

void check_resume_maps_only_if_percent_permits(void)
{
	struct signal *sent;
	struct desk desk;

	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	CHECK_IS(desk_update(&desk, &desk.queues[0], true, 0), 0);
	desk_resume_one(&desk, &desk.queues[0]);
	sent = desk_send(&desk, &desk.queues[0]);
	CHECK(desk_stands(&desk, sent));
	CHECK_IS(desk_update(&desk, &desk.queues[0], true, 100), 0);
	CHECK(desk_done(sent));
}

void check_resume_maps_only_if_ring_permits(void)
{
	struct signal *sent;
	struct desk desk;

	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	CHECK_IS(desk_update(&desk, &desk.queues[0], false, 100), 0);
	desk_resume_one(&desk, &desk.queues[0]);
	sent = desk_send(&desk, &desk.queues[0]);
	CHECK(desk_stands(&desk, sent));
	CHECK_IS(desk_update(&desk, &desk.queues[0], true, 100), 0);
	CHECK(desk_done(sent));
}

void check_resume_rereads_the_write_pointer(void)
{
	struct signal *sent;
	struct desk desk;

	desk_open(&desk, 1);
	CHECK(desk_runs(&desk, &desk.queues[0]));
	desk_suspend_one(&desk, &desk.queues[0]);
	sent = desk_send_silently(&desk, &desk.queues[0]);
	CHECK(desk_stands(&desk, sent));
	desk_resume_one(&desk, &desk.queues[0]);
	CHECK(desk_done(sent));
	CHECK_IS(*queue_rptr(&desk.queues[0]), 2);
}

/* The remaining work takes as long as was left of it, in one piece or several. */
void check_work_goes_on_where_it_stopped(void)
{
	uint64_t start;
	struct raw_queue *queue;
	struct signal *work;
	struct desk desk;
	double left, took;

	desk_open(&desk, 1);
	queue = &desk.queues[0];
	work = desk_suspend_at_work(&desk, queue, &left);
	start = clock_ns();
	desk_resume_one(&desk, queue);
	desk_suspend_one(&desk, queue);
	desk_resume_one(&desk, queue);
	CHECK(desk_done(work));
	took = (double)(clock_ns() - start) / 1e6;
	CHECK(took >= left);
	CHECK(desk_runs(&desk, queue));
}
