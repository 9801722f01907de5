// SPDX-License-Identifier: MIT
/* A suspended queue stands still in the middle of a dispatch and goes on from
 * there; another queue is not held; work that was written meanwhile starts at
 * the remap without a doorbell. Run with unknown_kernel_us = 1000. */
#include <unistd.h>

#include "conform/lab.h"

#define LONG_WORKGROUPS (400u * 832u) /* of four waves each: 400 rounds of 1 ms on 104 CUs */

int main(void)
{
	struct kfdabi_queue_snapshot entries[2];
	struct kfdabi_runtime_info info;
	struct raw_queue slow, quick;
	struct signal *signals;
	struct gpu_file gpu;
	uint32_t n = 2, id;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	signals = signals_new(&gpu);
	queue_new(&gpu, &slow);
	queue_new(&gpu, &quick);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), 0);
	CHECK_IS(trap_snapshot(gpu.kfd, getpid(), NEW_MASK, entries, &n), 0);
	for (int i = 0; i < 4; i++)
		signals[i].value = 1;

	queue_dispatch(&slow, LONG_WORKGROUPS, &signals[0]);
	queue_ring(&slow);
	sleep_ms(100);
	id = slow.id;
	CHECK_IS(trap_suspend(gpu.kfd, getpid(), &id, 1, 0), 1);
	CHECK_IS(signals[0].value, 1);
	queue_dispatch(&quick, 1, &signals[1]);
	queue_ring(&quick);
	CHECK(comes(&signals[1].value, 0, 200));
	sleep_ms(600); /* it would have ended by now */
	CHECK_IS(signals[0].value, 1);
	CHECK_IS(*queue_rptr(&slow), 0);

	/* Neither a doorbell nor a create starts it; RESUME does. */
	queue_dispatch(&slow, 1, &signals[2]);
	queue_ring(&slow);
	CHECK(!comes(&signals[2].value, 0, 50));
	id = slow.id;
	CHECK_IS(trap_resume(gpu.kfd, getpid(), &id, 1), 1);
	CHECK(!comes(&signals[0].value, 0, 100)); /* about 300 ms are left */
	CHECK(comes(&signals[0].value, 0, 2000));
	CHECK(comes(&signals[2].value, 0, 200));

	/* The write pointer is read again at every map. */
	id = quick.id;
	CHECK_IS(trap_suspend(gpu.kfd, getpid(), &id, 1, 0), 1);
	queue_dispatch(&quick, 1, &signals[3]);
	sleep_ms(20);
	CHECK_IS(signals[3].value, 1);
	CHECK_IS(trap_resume(gpu.kfd, getpid(), &id, 1), 1);
	CHECK(comes(&signals[3].value, 0, 200));
	CHECK_IS(*queue_rptr(&quick), 2);

	/* UPDATE to 0 % stops it too, and a suspended queue only stores values. */
	CHECK_IS(queue_update(&gpu, &quick, 0), 0);
	signals[3].value = 1;
	queue_dispatch(&quick, 1, &signals[3]);
	queue_ring(&quick);
	CHECK(!comes(&signals[3].value, 0, 50));
	id = quick.id;
	CHECK_IS(trap_suspend(gpu.kfd, getpid(), &id, 1, 0), 1);
	CHECK_IS(queue_update(&gpu, &quick, 100), 0);
	CHECK(!comes(&signals[3].value, 0, 50));
	CHECK_IS(trap_resume(gpu.kfd, getpid(), NULL, 0), 2);
	CHECK(comes(&signals[3].value, 0, 200));
	return 0;
}
