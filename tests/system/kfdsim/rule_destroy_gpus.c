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
	pthread_t destroyer;
	struct desk desk;
	uint32_t ids[2];

	desk_prepare(&desk);
	gpu_open_too(&second, &desk.gpu, 1);
	desk_enable(&desk, 0);
	for (unsigned i = 0; i < 3; i++) /* runlist updates 1 to 3 of the first GPU */
		queue_new(&desk.gpu, &desk.queues[i]);
	queue_new(&second, &far);
	desk_collect(&desk);
	ids[0] = desk.queues[0].id;
	ids[1] = far.id;
	CHECK_IS(desk_suspend(&desk, ids, 2), 2);
	CHECK(!pthread_create(&destroyer, NULL, destroy, NULL));
	until_in_call(&tid);
	CHECK_IS(pthread_tryjoin_np(destroyer, NULL), EBUSY);
	ids[0] = desk.queues[0].id;
	ids[1] = far.id;
	CHECK_IS(desk_resume(&desk, ids, 2), 1);
	CHECK_IS(ids[0], desk.queues[0].id | KFDABI_QUEUE_ERROR);
	CHECK_IS(ids[1], far.id);
	CHECK(!pthread_join(destroyer, NULL));
	return 0;
}
