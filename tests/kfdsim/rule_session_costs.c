// SPDX-License-Identifier: MIT
/* What a session costs on a GPU that has a queue: one bounce for ENABLE, four
 * for DISABLE, one more for each watchpoint; nothing where there is no queue.
 * Run with bounce_us = 100000, on a part that is debugged by VMID. A call
 * returns when the last of its old lists is off: half a bounce earlier. */
#include <time.h>
#include <unistd.h>

#include "conform/lab.h"

#define BOUNCE_MS 100
#define SLACK_MS 80   /* a busy machine is late */
#define LAG_US 50     /* what the GPU's time may be behind at a call */
#define QUIET_MS 2200 /* after that it is looked at every few milliseconds */

static struct gpu_file gpu;
static struct timespec began;

static void begin(void)
{
	sleep_ms(2 * BOUNCE_MS); /* what was asked before is over */
	clock_gettime(CLOCK_MONOTONIC, &began);
}

/* It took so many bounces since begin(), less what is not waited for. Never less:
 * nothing begins before it was asked for, however seldom a quiet GPU is looked at. */
static void took(unsigned bounces)
{
	long least = bounces ? (long)bounces * BOUNCE_MS - BOUNCE_MS / 2 : 0;
	struct timespec now;
	long us;

	clock_gettime(CLOCK_MONOTONIC, &now);
	us = (now.tv_sec - began.tv_sec) * 1000000 + (now.tv_nsec - began.tv_nsec) / 1000;
	fprintf(stderr, "%u bounces: %ld us\n", bounces, us);
	CHECK(us >= least * 1000 - LAG_US);
	CHECK(us < (least + SLACK_MS) * 1000);
}

static void enable(void)
{
	struct kfdabi_runtime_info info;

	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
}

int main(void)
{
	struct kfdabi_dbg_trap watch = {.pid = (uint32_t)getpid(),
					.op = KFDABI_TRAP_SET_NODE_ADDRESS_WATCH};
	struct raw_queue queue;

	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	begin();
	enable();
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	took(0);
	queue_new(&gpu, &queue);
	sleep_ms(QUIET_MS);
	begin();
	enable();
	took(1);
	begin();
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	took(4);
	enable();
	watch.u.set_watch.gpu_id = gpu.gpu_id;
	CHECK_IS(lab_ioctl(gpu.kfd, KFDABI_DBG_TRAP, &watch, sizeof watch), 0);
	begin();
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	took(5);
	return 0;
}
