// SPDX-License-Identifier: MIT
/* Checks of DBG_TRAP: which process may do what to which target, and the order of the driver's
 * checks. */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/kfdconform/checks.h"

#define NO_PID 0x3ffffff0 /* larger than any pid of the kernel */

/* The target, its debugger, and a process that is neither. */
static struct scripted_child child, debugger, stranger;

static int enable(pid_t pid)
{
	return trap_enable(gpu.kfd, pid, 0, STDERR_FILENO, NULL);
}

/* Calls a DBG_TRAP operation with zero arguments. */
static int operate(pid_t pid, uint32_t op)
{
	return DBG_CALL(gpu.kfd, pid, op, 0);
}

static int count(pid_t pid)
{
	return trap_count(gpu.kfd, pid);
}

static RULE_CHECK(debug_unknown_pid_is_esrch, gpu_open(&gpu))
{
	CHECK_IS(enable(NO_PID), -ESRCH);
	CHECK_IS(count(NO_PID), -ESRCH);
}

static pid_t outside;

/* Body of a child that is pid 1 of its own PID namespace. */
static void inner(void)
{
	gpu_open(&gpu);
	CHECK_IS(getpid(), 1);
	CHECK_IS(enable(1), 0);
	CHECK_IS(count(1), 0);
	CHECK_IS(count(outside), -ESRCH);
	CHECK_IS(trap_disable(gpu.kfd, 1), 0);
}

void check_debug_pid_is_of_callers_namespace(void)
{
	outside = getpid();
	gpu_open(&gpu);
	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		SKIP("a pid namespace cannot be created");
	CHECK_IS(run_in_child(inner), 0);
}

static RULE_CHECK(debug_target_without_kfd_is_esrch, gpu_open(&gpu))
{
	scripted_start(&child, "");
	CHECK_IS(enable(child.pid), -ESRCH);
}

static RULE_CHECK(debug_tracer_makes_kfd_process, gpu_open(&gpu))
{
	scripted_start(&child, "");
	seize(child.pid);
	/* Only ENABLE makes a KFD process of its target. */
	CHECK_IS(trap_disable(gpu.kfd, child.pid), -ESRCH);
	CHECK_IS(enable(child.pid), 0);
	CHECK_IS(count(child.pid), 0);
	CHECK_IS(trap_disable(gpu.kfd, child.pid), 0);
}

static RULE_CHECK(debug_any_thread_names_target, debugged(&child, &gpu.kfd, 0, NULL))
{
	pid_t tid = scripted_do(&child, 't');

	CHECK_IS(count(tid), 1);
	CHECK_IS(clear_and_suspend(gpu.kfd, tid), 1);
}

static RULE_CHECK(debug_exited_leader_is_esrch, debugged(&child, &gpu.kfd, 0, NULL))
{
	pid_t tid = scripted_do(&child, 't');

	scripted_do(&child, 'l');
	CHECK(WITHIN(1000, count(child.pid) == -ESRCH));
	CHECK_IS(scripted_do(&child, 'u') == 0 || scripted_do(&child, 'u') == -EBADF, 1);
	CHECK(count(tid) != -ESRCH);
}

static RULE_CHECK(debug_zombie_target_is_esrch, debugged(&child, &gpu.kfd, 0, NULL))
{
	siginfo_t info;

	CHECK(!kill(child.pid, SIGKILL));
	CHECK(!waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT));
	CHECK_IS(enable(child.pid), -ESRCH);
	CHECK_IS(count(child.pid), -ESRCH);
	CHECK_IS(trap_disable(gpu.kfd, child.pid), -ESRCH);
}

static RULE_CHECK(debug_stranger_is_eperm, gpu_open(&gpu))
{
	scripted_start(&child, "or");
	CHECK_IS(enable(child.pid), -EPERM);
	seize(child.pid);
	CHECK_IS(enable(child.pid), 0);
}

/* Starts a process with the device open and `child` as its target. */
static void start(struct scripted_child *other)
{
	scripted_start(other, "o");
	scripted_aim(other, child.pid);
}

static RULE_CHECK(debug_stranger_with_session_is_eperm, debugged(&child, &gpu.kfd, 0, NULL))
{
	start(&stranger);
	CHECK_IS(scripted_do(&stranger, 'n'), -EPERM);
	CHECK_IS(scripted_do(&stranger, 'P'), -EPERM);
	CHECK_IS(scripted_do(&stranger, 'V'), -EPERM);
	CHECK_IS(count(child.pid), 1);
}

static RULE_CHECK(debug_permission_before_session, gpu_open(&gpu))
{
	scripted_start(&child, "o");
	CHECK_IS(count(child.pid), -EPERM);
	seize(child.pid);
	CHECK_IS(count(child.pid), -EINVAL);
}

void check_debug_other_thread_is_eperm(void)
{
	scripted_start(&child, "or");
	start(&debugger);
	CHECK_IS(scripted_do(&debugger, 'S'), 0);
	CHECK_IS(scripted_do(&debugger, '2'), -EPERM);
	CHECK_IS(scripted_do(&debugger, 'E'), 0);
	CHECK_IS(scripted_do(&debugger, 'N'), -EPERM);
	CHECK_IS(scripted_do(&debugger, 'n'), 0);
}

void check_debug_detached_is_eperm(void)
{
	scripted_start(&child, "orq");
	start(&debugger);
	STEPS(&debugger, "S E T");
	CHECK_IS(scripted_do(&debugger, 'n'), -EPERM);
	CHECK_IS(scripted_do(&debugger, 'D'), 0);
}

static RULE_CHECK(debug_disable_open_to_all, debugged(&child, &gpu.kfd, 0, NULL))
{
	start(&stranger);
	CHECK_IS(scripted_do(&stranger, 'D'), 0);
	CHECK_IS(count(child.pid), -EINVAL);
}

void check_debug_owner_may_use_any_thread(void)
{
	scripted_start(&child, "orq");
	start(&debugger);
	CHECK_IS(scripted_do(&debugger, 'S'), 0);
	CHECK_IS(scripted_do(&debugger, '2'), -EPERM); /* neither owner nor tracer */
	STEPS(&debugger, "E N=1");
}

void check_debug_owner_may_detach(void)
{
	scripted_start(&child, "orq");
	start(&debugger);
	STEPS(&debugger, "S E T P=1 D");
	CHECK_IS(scripted_do(&debugger, 'E'), -EPERM); /* the permission was for one session only */
}

static RULE_CHECK(debug_disable_by_stranger_is_eperm, debugged(&child, &gpu.kfd, 0, NULL))
{
	start(&stranger);
	CHECK_IS(scripted_do(&stranger, 'D'), -EPERM);
	CHECK_IS(count(child.pid), 1);
}

static RULE_CHECK(debug_child_of_owner_is_eperm, debugged(&child, &gpu.kfd, 0, NULL))
{
	start(&stranger); /* a child of this process, which owns the session */
	CHECK_IS(scripted_do(&stranger, 'n'), -EPERM);
	CHECK_IS(scripted_do(&stranger, 'E'), -EPERM);
	CHECK_IS(scripted_do(&stranger, 'P'), -EPERM);
}

void check_debug_failed_enable_authorises(void)
{
	scripted_start(&child, "or");
	start(&debugger);
	CHECK_IS(scripted_do(&debugger, 'S'), 0);
	CHECK_IS(scripted_do(&debugger, 'e'), -EBADF);
	STEPS(&debugger, "T E");
}

static RULE_CHECK(debug_self_needs_no_tracer, gpu_open(&gpu))
{
	struct kfdabi_runtime_info info;

	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_DISABLED);
	CHECK_IS(count(getpid()), 0);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
}

/* Checks the rule with a target that uses its own file descriptor and traces no process. */
static RULE_CHECK(debug_target_may_use_its_session, debugged(&child, &gpu.kfd, 0, NULL))
{
	CHECK_IS(clear_and_suspend(gpu.kfd, child.pid), 1);
	scripted_aim(&child, child.pid);
	STEPS(&child, "n=1 w z D W=1");
	CHECK_IS(trap_disable(gpu.kfd, child.pid), -EINVAL);
	CHECK_IS(trap_enable(gpu.kfd, child.pid, 0, STDERR_FILENO, NULL), 0);
}

static RULE_CHECK(debug_no_session_is_einval, gpu_open(&gpu))
{
	for (uint32_t op = KFDABI_TRAP_SEND_RUNTIME_EVENT; op <= KFDABI_TRAP_GET_DEVICE_SNAPSHOT;
	     op++)
		CHECK_IS(operate(getpid(), op), -EINVAL);
}

static RULE_CHECK(debug_disable_without_session_is_einval, gpu_open(&gpu))
{
	CHECK_IS(trap_disable(gpu.kfd, getpid()), -EINVAL);
	CHECK_IS(enable(getpid()), 0);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), -EINVAL);
}

static RULE_CHECK(debug_hardware_ops_need_runtime, gpu_open(&gpu))
{
	static const uint32_t ops[] = {
		KFDABI_TRAP_SET_WAVE_LAUNCH_OVERRIDE,
		KFDABI_TRAP_SET_WAVE_LAUNCH_MODE,
		KFDABI_TRAP_SUSPEND_QUEUES,
		KFDABI_TRAP_RESUME_QUEUES,
		KFDABI_TRAP_SET_FLAGS,
	};

	CHECK_IS(enable(getpid()), 0);
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		CHECK_IS(operate(getpid(), ops[i]), -EPERM);
	CHECK_IS(count(getpid()), 0); /* not a hardware operation */
}

static int set_watch(uint32_t gpu_id)
{
	return DBG_CALL(
		gpu.kfd, getpid(), KFDABI_TRAP_SET_NODE_ADDRESS_WATCH,
		.u.set_watch = {.address = 0x1000, .mode = 3, .mask = ~0u, .gpu_id = gpu_id});
}

static RULE_CHECK(debug_runtime_state_before_gpu, gpu_open(&gpu))
{
	CHECK_IS(enable(getpid()), 0);
	CHECK_IS(set_watch(1), -EPERM);
}

static RULE_CHECK(watch_unknown_gpu_is_enodev, gpu_open(&gpu))
{
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
	CHECK_IS(enable(getpid()), 0);
	CHECK_IS(set_watch(1), -ENODEV);
	CHECK_IS(set_watch(gpu.gpu_id), 0);
}

static RULE_CHECK(debug_unknown_op_is_einval, gpu_open(&gpu))
{
	CHECK_IS(enable(getpid()), 0);
	CHECK_IS(operate(getpid(), KFDABI_TRAP_GET_DEVICE_SNAPSHOT + 1), -EINVAL);
	CHECK_IS(operate(getpid(), 0x7fffffff), -EINVAL);
}
