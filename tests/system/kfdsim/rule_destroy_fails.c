// SPDX-License-Identifier: MIT
/* Proves destroy_suspended_fails=1: DESTROY_QUEUE of a suspended queue fails with EIO and leaves
 * the queue unchanged. */
#include "tools/kfdconform/harness/self_debug.h"

int main(void)
{
	struct desk desk;

	desk_open(&desk, 1);
	desk_suspend_one(&desk, &desk.queues[0]);
	CHECK_IS(queue_destroy(&desk.gpu, desk.queues[0].id), -EIO);
	desk_resume_one(&desk, &desk.queues[0]);
	CHECK(desk_runs(&desk, &desk.queues[0]));
	desk_suspend_one(&desk, &desk.queues[0]);
	desk_resume_one(&desk, &desk.queues[0]);
	CHECK_IS(queue_destroy(&desk.gpu, desk.queues[0].id), 0);
	return 0;
}
