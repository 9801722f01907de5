// SPDX-License-Identifier: MIT
/*
 * Proves, for RESUME on two GPUs of which the first does not answer: a sleeping DESTROY_QUEUE
 * continues where the driver was able to resume.
 *
 * Two GPUs; run with preempt_fails_at = 5 and queue_preemption_timeout_ms = 100.
 */
#include <pthread.h>
#include <unistd.h>

#include "tools/kfdconform/harness/self_debug.h"

static struct gpu_file second;
static struct raw_queue far;
static pid_t tid;

static void *destroy(void *arg)
{
	__atomic_store_n(&tid, gettid(), __ATOMIC_RELEASE);
	CHECK_IS(queue_destroy(&second, far.id), 0);
	return arg;
}

int main(void)
{
	pthread_t destroying_thread;
	uint32_t ids[2];

	self_debug_prepare();
	gpu_open_too(&second, &self.gpu, 1);
	self_debug_enable(0);
	for (unsigned i = 0; i < 3; i++) /* runlist updates 1 to 3 of the first GPU */
		queue_new(&self.gpu, &self.queues[i]);
	queue_new(&second, &far);
	self_debug_collect();
	ids[0] = self.queues[0].id;
	ids[1] = far.id;
	CHECK_IS(self_debug_suspend(ids, 2), 2);
	CHECK(!pthread_create(&destroying_thread, NULL, destroy, NULL));
	until_in_call(&tid);
	CHECK_IS(pthread_tryjoin_np(destroying_thread, NULL), EBUSY);
	ids[0] = self.queues[0].id;
	ids[1] = far.id;
	CHECK_IS(self_debug_resume(ids, 2), 1);
	CHECK_IS(ids[0], self.queues[0].id | KFDABI_QUEUE_ERROR);
	CHECK_IS(ids[1], far.id);
	CHECK(!pthread_join(destroying_thread, NULL));
	return 0;
}
