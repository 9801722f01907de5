// SPDX-License-Identifier: MIT
/* Checks of RUNTIME_ENABLE, without and with a debug session. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"

#define QUIET_MS 12u /* time during which nothing must happen */
#define LATE_MS 1000u

static struct scripted_child first;
static int reply;

static int kfd, events;
static struct scripted_child child;

/* Opens a session on a process that has not enabled the runtime yet. */
static void start(void)
{
	struct kfdabi_runtime_info info;
	int ends[2];

	kfd = device_open();
	scripted_start(&child, "ou");
	seize(child.pid);
	CHECK(!pipe2(ends, O_CLOEXEC | O_NONBLOCK));
	CHECK_IS(trap_enable(kfd, child.pid, RUNTIME_MASK, ends[1], &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_DISABLED);
	close(ends[1]);
	events = ends[0];
}

/* Sends a command whose driver call must sleep. Waits for the event that this call causes, and
 * checks that the call does not return. */
static void sleeps(char step)
{
	int got = 0;

	scripted_send(&child, step);
	CHECK(WITHIN(LATE_MS, (got = dots(events))));
	CHECK_IS(got, 1);
	CHECK(!scripted_replies(&child, QUIET_MS, &reply));
	CHECK_IS(dots(events), 0);
}

/* Wakes the sleeping call by SEND_RUNTIME_EVENT; it must return 0. */
static void is_woken(void)
{
	CHECK_IS(trap_send(kfd, child.pid, RUNTIME_MASK, 0), 0);
	CHECK(scripted_replies(&child, 1000, &reply));
	CHECK_IS(reply, 0);
}

static RULE_CHECK(runtime_enable_twice_is_ebusy, gpu_open(&gpu))
{
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), -EBUSY);
}

static RULE_CHECK(runtime_enable_after_queue_is_eexist, gpu_open(&gpu))
{
	struct raw_queue queue;

	queue_new(&gpu, &queue);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), -EEXIST);
	CHECK_IS(queue_destroy(&gpu, queue.id), 0);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
}

static RULE_CHECK(runtime_capabilities_untouched, gpu_open(&gpu))
{
	struct kfdabi_runtime_enable a = {.mode_mask = KFDABI_RUNTIME_MODE_ENABLE,
					  .capabilities_mask = 0x5a5a};

	CHECK_IS(harness_ioctl(gpu.kfd, KFDABI_RUNTIME_ENABLE, &a, sizeof a), 0);
	CHECK_IS(a.capabilities_mask, 0x5a5a);
}

static RULE_CHECK(runtime_disable_ends_state, gpu_open(&gpu))
{
	struct kfdabi_runtime_info info;

	CHECK_IS(runtime_enable(&gpu, 0), 0);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	CHECK_IS(runtime_enable(&gpu, 0), 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_DISABLED);
	CHECK_IS(info.r_debug, 0);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
}

static RULE_CHECK(runtime_enable_sleeps, start())
{
	uint32_t id = 0;

	sleeps('r');
	is_woken();
	/* This succeeds, because the session can use the hardware now. */
	CHECK_IS(dbg_suspend(kfd, child.pid, &id, 1, 0), 0);
}

static RULE_CHECK(runtime_disable_sleeps, debugged(&child, &kfd, RUNTIME_MASK, &events))
{
	sleeps('R');
	is_woken();
}

static RULE_CHECK(runtime_post_ahead_counts, start())
{
	for (int i = 0; i < 2; i++)
		CHECK_IS(trap_send(kfd, child.pid, RUNTIME_MASK, 0), 0);
	STEPS(&child, "r R");
	CHECK_IS(dots(events), 2);
	sleeps('r'); /* no event that was posted in advance is left */
	is_woken();
}

/* Interrupts the sleeping call with a signal. The signal also stops the traced process, which is
 * continued. */
static void is_interrupted(void)
{
	CHECK(!kill(child.pid, SIGALRM));
	reply = 0;
	for (int i = 0; i < 400 && !scripted_replies(&child, 5, &reply); i++)
		let_go_on(child.pid);
	CHECK_IS(reply, -EINTR);
}

static RULE_CHECK(runtime_retry_sleeps_on, start())
{
	CHECK_IS(scripted_do(&child, 'A'), 0);
	sleeps('r');
	is_interrupted();
	scripted_send(&child, 'r');
	CHECK(!scripted_replies(&child, QUIET_MS, &reply));
	CHECK_IS(dots(events), 0);
	is_woken();
}

static RULE_CHECK(runtime_retry_without_session_is_0, start())
{
	CHECK_IS(scripted_do(&child, 'A'), 0);
	sleeps('r');
	is_interrupted();
	CHECK_IS(trap_disable(kfd, child.pid), 0);
	scripted_send(&child, 'r');
	CHECK(scripted_replies(&child, 1000, &reply));
	CHECK_IS(reply, 0);
}

/* Calls RUNTIME_ENABLE while another process on the GPU is being debugged. */
static RULE_CHECK(runtime_enable_on_taken_gpu_is_busy, debugged(&first, &kfd, 0, NULL))
{
	struct kfdabi_runtime_info info = {0};
	struct kfdabi_dbg_trap a = {.u.query_info = {.info_ptr = (uint64_t)(uintptr_t)&info,
						     .info_size = sizeof info,
						     .exception_code = KFDABI_EC_PROCESS_RUNTIME}};

	start();
	sleeps('r');
	CHECK_IS(dbg_call(kfd, &a, child.pid, KFDABI_TRAP_QUERY_EXCEPTION_INFO), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_BUSY);
	is_woken();
	CHECK_IS(dbg_suspend(kfd, child.pid, NULL, 0, 0), -EPERM);
}

static RULE_CHECK(runtime_disable_op_wakes_nobody, start())
{
	sleeps('r');
	CHECK_IS(trap_disable(kfd, child.pid), 0);
	CHECK(!scripted_replies(&child, QUIET_MS, &reply));
}

/* Sends a command whose driver call must sleep, and waits until the driver has received the call:
 * GET_VERSION of this process returns only after the driver has received both calls. */
static void sleeps_in_call(char step)
{
	int unread;

	scripted_send(&child, step);
	CHECK(WITHIN(LATE_MS, !ioctl(child.child.to, FIONREAD, &unread) && !unread));
	until_asleep(child.pid);
	CHECK_IS(harness_version(kfd), 0);
	CHECK(!scripted_replies(&child, QUIET_MS, &reply));
}

void check_runtime_debugger_death_wakes_nobody(void)
{
	struct scripted_child debugger;

	kfd = device_open();
	scripted_start(&child, "ou");
	scripted_start(&debugger, "o");
	scripted_aim(&debugger, child.pid);
	STEPS(&debugger, "S E");
	sleeps_in_call('r');
	scripted_kill(&debugger);
	CHECK(!scripted_replies(&child, 2 * QUIET_MS, &reply));
}

static RULE_CHECK(runtime_disable_resumes, debugged(&child, &kfd, RUNTIME_MASK, &events))
{
	CHECK_IS(clear_and_suspend(kfd, child.pid), 1);
	STEPS(&child, "w z");
	CHECK_IS(trap_send(kfd, child.pid, RUNTIME_MASK, 0), 0);
	STEPS(&child, "R W=1");
}
