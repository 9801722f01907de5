// SPDX-License-Identifier: MIT
/* Proves, if ENABLE leaves the queues unmapped: they run again after a RESUME that names them or
 * all queues, or after DISABLE. */
#include <unistd.h>

#include "tools/kfdconform/harness/harness.h"

static struct gpu_file gpu;
static struct raw_queue queue;

/* Returns whether a dispatch is completed within `ms`. */
static bool runs(struct signal *signal, unsigned ms)
{
	signal->value = 1;
	queue_dispatch(&queue, 1, signal);
	queue_ring(&queue);
	return comes(&signal->value, 0, ms);
}

int main(void)
{
	struct kfdabi_runtime_info info;
	struct signal *signals;
	uint32_t id = 0;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	signals = signals_new(&gpu);
	queue_new(&gpu, &queue);
	CHECK(runs(&signals[0], 2000));
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), 0);
	CHECK(!runs(&signals[1], 50));
	CHECK_IS(dbg_resume(gpu.kfd, getpid(), &id, 1), 1);
	CHECK(comes(&signals[1].value, 0, 2000));
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), 0);
	CHECK(!runs(&signals[2], 50));
	CHECK_IS(dbg_resume(gpu.kfd, getpid(), NULL, 0), 1);
	CHECK(comes(&signals[2].value, 0, 2000));
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), 0);
	CHECK(!runs(&signals[3], 50));
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK(comes(&signals[3].value, 0, 2000));
	return 0;
}
