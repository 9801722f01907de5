// SPDX-License-Identifier: MIT
/* Proves: the third runlist update of a node is not answered, whichever call needs it; calls that
 * wait behind it, and calls during the reset, fail at once.
 *
 * Run with preempt_fails_at = 3, queue_preemption_timeout_ms = 1000, gpu_reset_ms = 1000. */
#include <pthread.h>
#include <unistd.h>

#include "tools/kfdconform/harness/self_debug.h"

static struct gpu_file gpu;

/* A process whose call waits behind the call that hangs. */
static void second(int from, int to)
{
	struct kfdabi_create_queue args;
	struct raw_queue queue;
	struct gpu_file own;

	gpu_open(&own);
	queue_args(&own, &queue, &args);
	notify(to);
	hear(from);
	until_asleep(getppid()); /* the parent is in its call and waits */
	CHECK_IS(queue_create(&own, &queue, &args), -EIO);
	notify(to);
	hear(from);
	/* Only a process that starts after the reset (third()) can use the GPU again. */
}

static void third(int from, int to)
{
	struct raw_queue queue;
	struct signal *signal;
	struct gpu_file own;

	gpu_open(&own);
	signal = signals_new(&own);
	queue_new(&own, &queue);
	signal->value = 1;
	queue_barrier(&queue, NULL, signal);
	queue_ring(&queue);
	CHECK(comes(&signal->value, 0, 10000));
	notify(to);
	hear(from);
}

int main(void)
{
	struct kfdabi_create_queue args;
	struct raw_queue queues[3];
	struct child behind, after;

	child_begin(&behind, second);
	hear(behind.from);
	gpu_open(&gpu);
	queue_new(&gpu, &queues[0]);
	queue_new(&gpu, &queues[1]);
	queue_args(&gpu, &queues[2], &args);
	notify(behind.to);
	CHECK_IS(queue_create(&gpu, &queues[2], &args), -ETIME);
	hear(behind.from);
	notify(behind.to);
	CHECK_IS(child_end(&behind), 0);
	/* The queue that could not be created does not exist. The existing queues are destroyed
	 * without a runlist update. */
	CHECK_IS(queue_destroy(&gpu, queues[1].id + 1), -EINVAL);
	CHECK_IS(queue_destroy(&gpu, queues[1].id), 0);
	sleep_ms(1500);
	child_begin(&after, third);
	hear(after.from);
	notify(after.to);
	CHECK_IS(child_end(&after), 0);
	return 0;
}
