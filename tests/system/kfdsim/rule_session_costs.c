// SPDX-License-Identifier: MIT
/* Proves what a debug session costs on a GPU that has a queue: one runlist update ("bounce") for
 * ENABLE, four for DISABLE, and one more for each watchpoint; nothing if there is no queue. A call
 * returns when the last of its old runlists is off, which is half an update earlier.
 *
 * Run with update_us = 100000, on a GPU that is debugged by VMID. */
#include <unistd.h>

#include "common/clock.h"
#include "tools/kfdconform/harness/harness.h"

#define UPDATE_MS 100
#define LAG_US 50     /* by how much the GPU's time may be behind at a call */
#define TURNS 20      /* in one of which each call must be in time */
#define QUIET_MS 2200 /* after this time kfdsim checks the GPU every few milliseconds only */

static struct gpu_file gpu;
static uint64_t began;
static long long updates;

static void begin(void)
{
	updates = harness_settled("bounces");
	began = clock_ns();
}

/* Checks that `wanted` updates were made since begin(), and that the calls waited for them, less
 * the half that is not waited for. A shorter time is always an error, because nothing starts before
 * it is requested, however rarely a quiet GPU is checked. Returns whether the time was not longer
 * either; on a busy machine it may be. */
static bool took(unsigned wanted)
{
	long least = wanted ? (long)wanted * UPDATE_MS - UPDATE_MS / 2 : 0;
	long us = (long)((clock_ns() - began) / 1000);

	fprintf(stderr, "%u bounces: %ld us\n", wanted, us);
	CHECK(us >= least * 1000 - LAG_US);
	CHECK_IS(harness_settled("bounces") - updates, wanted);
	return us < (least + UPDATE_MS / 4) * 1000;
}

static void enable(void)
{
	struct kfdabi_runtime_info info;

	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, 1, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
}

/* Returns a bit for each call that was in time. */
static unsigned session(struct kfdabi_dbg_trap *watch)
{
	unsigned in_time;

	begin();
	enable();
	in_time = took(1);
	begin();
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	in_time |= took(4) << 1;
	enable();
	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_DBG_TRAP, watch, sizeof *watch), 0);
	begin();
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	return in_time | took(5) << 2;
}

int main(void)
{
	struct kfdabi_dbg_trap watch = {.pid = (uint32_t)getpid(),
					.op = KFDABI_TRAP_SET_NODE_ADDRESS_WATCH};
	struct raw_queue queue;
	unsigned in_time = 0;

	gpu_open(&gpu);
	watch.u.set_watch.gpu_id = gpu.gpu_id;
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	begin();
	enable();
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	took(0);
	queue_new(&gpu, &queue);
	sleep_ms(QUIET_MS);
	for (int round = 0; in_time != 7 && round < TURNS; round++) {
		if (round)
			fprintf(stderr, "tried again: a call was late\n");
		in_time |= session(&watch);
	}
	CHECK_IS(in_time, 7);
	return 0;
}
