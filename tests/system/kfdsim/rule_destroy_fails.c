// SPDX-License-Identifier: MIT
/* Proves destroy_suspended_fails=1: DESTROY_QUEUE of a suspended queue fails with EIO and leaves
 * the queue unchanged. */
#include "tools/kfdconform/harness/self_debug.h"

int main(void)
{
	self_debug_open(1);
	self_debug_suspend_one(&self.queues[0]);
	CHECK_IS(queue_destroy(&self.gpu, self.queues[0].id), -EIO);
	self_debug_resume_one(&self.queues[0]);
	CHECK(self_debug_runs(&self.queues[0]));
	self_debug_suspend_one(&self.queues[0]);
	self_debug_resume_one(&self.queues[0]);
	CHECK_IS(queue_destroy(&self.gpu, self.queues[0].id), 0);
	return 0;
}
