// SPDX-License-Identifier: MIT
/* Checks of DBG_TRAP ENABLE and DISABLE: a debug session from beginning to end, and the other
 * events that end one (exit, exec, fork, close, detach). */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/wait.h"
#include "tools/kfdconform/checks.h"

#define R_DEBUG_UNSET 0u

static struct scripted_child child, debugger, one, two;
static int events;

static void open_with_runtime(void)
{
	gpu_open(&gpu);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE), 0);
}

static int enable(int dbg_fd)
{
	return trap_enable(gpu.kfd, getpid(), 0, dbg_fd, NULL);
}

/* Calls ENABLE on the own process. The driver writes the runtime information to `at`. *size: bytes
 * at `at`, and afterwards the size that the driver reports. */
static int enable_into(void *at, uint32_t *size)
{
	struct kfdabi_dbg_trap a = {.u.enable = {.rinfo_ptr = (uint64_t)(uintptr_t)at,
						 .rinfo_size = *size,
						 .dbg_fd = STDERR_FILENO}};
	int r = dbg_call(gpu.kfd, &a, getpid(), KFDABI_TRAP_ENABLE);

	*size = a.u.enable.rinfo_size;
	return r;
}

static RULE_CHECK(enable_twice_is_ealready, gpu_open(&gpu))
{
	CHECK_IS(enable(STDERR_FILENO), 0);
	CHECK_IS(enable(STDERR_FILENO), -EALREADY);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(enable(STDERR_FILENO), 0);
}

static RULE_CHECK(enable_already_before_bad_fd, gpu_open(&gpu))
{
	CHECK_IS(enable(STDERR_FILENO), 0);
	CHECK_IS(enable(999), -EALREADY);
}

static RULE_CHECK(enable_bad_fd_is_ebadf, gpu_open(&gpu))
{
	CHECK_IS(enable(999), -EBADF);
	CHECK_IS(enable(-1), -EBADF);
	CHECK_IS(trap_count(gpu.kfd, getpid()), -EINVAL);
}

static RULE_CHECK(enable_path_fd_is_ebadf, gpu_open(&gpu))
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_IS(enable(fd), -EBADF);
}

static RULE_CHECK(enable_bad_info_leaves_session, open_with_runtime())
{
	uint32_t size = 16;

	CHECK_IS(enable_into(NULL, &size), -EFAULT);
	CHECK_IS(size, 16);
	CHECK_IS(trap_count(gpu.kfd, getpid()), 0);
	CHECK_IS(enable(STDERR_FILENO), -EALREADY);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
}

static RULE_CHECK(enable_bad_info_ends_session, open_with_runtime())
{
	uint32_t size = 16;

	CHECK_IS(enable_into(NULL, &size), -EFAULT);
	CHECK_IS(trap_count(gpu.kfd, getpid()), -EINVAL);
	CHECK_IS(enable(STDERR_FILENO), 0);
}

static RULE_CHECK(enable_info_size_is_16, gpu_open(&gpu))
{
	static const uint32_t rooms[] = {16, 8, 0, 64};
	struct kfdabi_runtime_info info[4];

	for (int i = 0; i < 4; i++) {
		uint32_t size = rooms[i];

		CHECK_IS(enable_into(info, &size), 0);
		CHECK_IS(size, 16);
		CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	}
}

static RULE_CHECK(enable_info_is_cut, open_with_runtime())
{
	unsigned char bytes[32];
	uint32_t size = 8;

	memset(bytes, 0xa5, sizeof bytes);
	CHECK_IS(enable_into(bytes, &size), 0);
	for (int i = 8; i < 32; i++)
		CHECK_IS(bytes[i], 0xa5);
	CHECK(bytes[7] != 0xa5); /* the upper end of r_debug */
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	size = 32;
	CHECK_IS(enable_into(bytes, &size), 0);
	CHECK_IS(bytes[8], KFDABI_RUNTIME_ENABLED);
	for (int i = 16; i < 32; i++)
		CHECK_IS(bytes[i], 0xa5);
}

static RULE_CHECK(enable_tells_runtime_state, gpu_open(&gpu))
{
	struct kfdabi_runtime_info info = {.runtime_state = 77};

	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_DISABLED);
	CHECK_IS(info.r_debug, R_DEBUG_UNSET);
	CHECK_IS(trap_disable(gpu.kfd, getpid()), 0);
	CHECK_IS(runtime_enable(&gpu, KFDABI_RUNTIME_MODE_ENABLE | KFDABI_RUNTIME_MODE_TTMP_SAVE),
		 0);
	CHECK_IS(trap_enable(gpu.kfd, getpid(), 0, STDERR_FILENO, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
	CHECK_IS(info.ttmp_setup, 1);
	CHECK(info.r_debug != R_DEBUG_UNSET);
}

static RULE_CHECK(enable_keeps_queues_running, debugged(&child, &gpu.kfd, 0, NULL))
{
	STEPS(&child, "w W=1");
}

/* Checks that an ENABLE that is refused still makes the driver forget the first debugger. */
void check_enable_poisons_owner(void)
{
	struct scripted_child first, second;

	scripted_start(&child, "orq");
	scripted_start(&first, "o");
	scripted_aim(&first, child.pid);
	STEPS(&first, "S E P=1 T");
	scripted_start(&second, "o");
	scripted_aim(&second, child.pid);
	CHECK_IS(scripted_do(&second, 'S'), 0);
	CHECK_IS(scripted_do(&second, 'E'), -EALREADY);
	CHECK_IS(scripted_do(&child, 'w'), 0);
	scripted_kill(&first);
	CHECK_IS(scripted_do(&child, 'z'), 0);
	CHECK_IS(scripted_do(&second, 'T'), 0);
	scripted_kill(&second);
	CHECK_IS(scripted_do(&child, 'z'), 0);
	/* A third debugger can end the session that is left. */
	gpu_open(&gpu);
	seize(child.pid);
	CHECK_IS(trap_enable(gpu.kfd, child.pid, 0, STDERR_FILENO, NULL), -EALREADY);
	CHECK_IS(trap_disable(gpu.kfd, child.pid), 0);
	CHECK_IS(scripted_do(&child, 'W'), 1);
}

/* Opens a session and returns the runtime state of the process. */
static uint32_t state_after_enable(pid_t pid)
{
	struct kfdabi_runtime_info info;

	CHECK_IS(trap_enable(gpu.kfd, pid, 0, STDERR_FILENO, &info), 0);
	return info.runtime_state;
}

/* Opens two sessions that exist at the same time. Returns the runtime state of the second
 * target. */
static uint32_t second_session(void)
{
	debugged(&one, &gpu.kfd, 0, NULL);
	scripted_start(&two, "orq");
	seize(two.pid);
	return state_after_enable(two.pid);
}

void check_enable_many_per_gpu(void)
{
	CHECK_IS(second_session(), KFDABI_RUNTIME_ENABLED);
	CHECK_IS(clear_and_suspend(gpu.kfd, one.pid), 1);
	CHECK_IS(clear_and_suspend(gpu.kfd, two.pid), 1);
}

void check_enable_second_on_gpu_is_busy(void)
{
	CHECK_IS(second_session(), KFDABI_RUNTIME_BUSY);
	CHECK_IS(clear_and_suspend(gpu.kfd, one.pid), 1);
	CHECK_IS(clear_and_suspend(gpu.kfd, two.pid), -EPERM);
}

void check_disable_returns_busy_to_enabled(void)
{
	CHECK_IS(second_session(), KFDABI_RUNTIME_BUSY);
	CHECK_IS(trap_disable(gpu.kfd, one.pid), 0);
	CHECK_IS(trap_disable(gpu.kfd, two.pid), 0);
	CHECK_IS(state_after_enable(two.pid), KFDABI_RUNTIME_ENABLED);
}

static RULE_CHECK(disable_frees_gpu_for_next, debugged(&one, &gpu.kfd, 0, NULL))
{
	CHECK_IS(trap_disable(gpu.kfd, one.pid), 0);
	scripted_start(&two, "orq");
	seize(two.pid);
	CHECK_IS(state_after_enable(two.pid), KFDABI_RUNTIME_ENABLED);
}

static RULE_CHECK(disable_resumes, debugged(&child, &gpu.kfd, 0, NULL))
{
	CHECK_IS(clear_and_suspend(gpu.kfd, child.pid), 1);
	STEPS(&child, "w z");
	CHECK_IS(trap_disable(gpu.kfd, child.pid), 0);
	CHECK_IS(scripted_do(&child, 'W'), 1);
}

static RULE_CHECK(disable_clears_exceptions, debugged(&child, &gpu.kfd, 0, NULL))
{
	uint32_t id = 0;

	/* Not suspended, because the queue is NEW. */
	CHECK_IS(dbg_suspend(gpu.kfd, child.pid, &id, 1, 0), 0);
	CHECK_IS(trap_disable(gpu.kfd, child.pid), 0);
	CHECK_IS(state_after_enable(child.pid), KFDABI_RUNTIME_ENABLED);
	id = 0;
	CHECK_IS(dbg_suspend(gpu.kfd, child.pid, &id, 1, 0), 1);
}

/* Arguments of a competing thread. strange: the last unexpected errno that it got; 0: none. */
struct contest {
	pid_t pid;
	bool disable;
	int strange;
};

/* Body of a competing thread: calls ENABLE or DISABLE on the own process in a loop. There are more
 * than twice as many ENABLEs as DISABLEs, so that some ENABLEs find an open session in whatever
 * order the calls are made. */
static void *compete(void *arg)
{
	struct contest *contest = arg;

	for (int i = 0; i < (contest->disable ? 20 : 50); i++) {
		int r = contest->disable
				? trap_disable(gpu.kfd, contest->pid)
				: trap_enable(gpu.kfd, contest->pid, 0, STDERR_FILENO, NULL);

		if (r && r != -EALREADY && r != -EINVAL)
			contest->strange = r;
	}
	return NULL;
}

static RULE_CHECK(concurrent_enable_disable_errnos, open_with_runtime())
{
	struct contest contests[4] = {0};
	pthread_t threads[4];

	for (int i = 0; i < 4; i++) {
		contests[i].pid = getpid();
		contests[i].disable = i % 2;
		CHECK_IS(pthread_create(&threads[i], NULL, compete, &contests[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		CHECK_IS(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < 4; i++)
		CHECK_IS(contests[i].strange, 0);
	trap_disable(gpu.kfd, getpid());
	CHECK_IS(enable(STDERR_FILENO), 0);
}

/* ---- what ends a session ---- */

/* Starts a debugger that is not the parent of its target. The debugger suspends queue 0 of the
 * target. The target then submits a dispatch to this queue, which has to wait. */
static void suspended(void)
{
	scripted_start(&child, "orq");
	scripted_start(&debugger, "o");
	scripted_aim(&debugger, child.pid);
	STEPS(&debugger, "S E P=1");
	STEPS(&child, "w z");
}

static RULE_CHECK(life_debugger_killed_resumes, suspended())
{
	scripted_kill(&debugger);
	CHECK_IS(scripted_do(&child, 'W'), 1);
}

static RULE_CHECK(life_debugger_killed_resumes_all, suspended())
{
	struct scripted_child others[2];

	for (int i = 0; i < 2; i++) {
		scripted_start(&others[i], "orq");
		scripted_aim(&debugger, others[i].pid);
		STEPS(&debugger, "S E P=1");
		CHECK_IS(scripted_do(&others[i], 'w'), 0);
	}
	scripted_kill(&debugger);
	CHECK_IS(scripted_do(&child, 'W'), 1);
	for (int i = 0; i < 2; i++)
		CHECK_IS(scripted_do(&others[i], 'W'), 1);
}

static RULE_CHECK(life_debugger_killed_allows_enable, suspended())
{
	scripted_kill(&debugger);
	CHECK_IS(scripted_do(&child, 'W'), 1);
	gpu_open(&gpu);
	seize(child.pid);
	CHECK_IS(state_after_enable(child.pid), KFDABI_RUNTIME_ENABLED);
	CHECK_IS(clear_and_suspend(gpu.kfd, child.pid), 1);
}

static RULE_CHECK(life_debugger_exec_resumes, suspended())
{
	scripted_send(&debugger, 'x');
	CHECK_IS(scripted_do(&child, 'W'), 1);
	CHECK(!kill(debugger.pid, 0)); /* the debugger process still exists */
}

/* Checks that a debugger that has closed its file descriptor can use the session through a new
 * one. */
static RULE_CHECK(life_debugger_close_keeps_session, suspended())
{
	CHECK_IS(scripted_do(&debugger, 'c'), 0);
	for (int i = 0; i < 5; i++)
		CHECK_IS(scripted_do(&child, 'z'), 0);
	STEPS(&debugger, "o n=1");
	CHECK_IS(scripted_do(&child, 'z'), 0);
}

static RULE_CHECK(life_target_close_keeps_session, suspended())
{
	CHECK_IS(scripted_do(&child, 'c'), 0);
	sleep_ms(5);
	CHECK_IS(scripted_do(&debugger, 'n'), 1);
	CHECK_IS(scripted_do(&child, 'z'), 0);
}

static RULE_CHECK(life_detach_keeps_suspended, suspended())
{
	CHECK_IS(scripted_do(&debugger, 'T'), 0);
	for (int i = 0; i < 5; i++)
		CHECK_IS(scripted_do(&child, 'z'), 0);
	STEPS(&debugger, "S n=1");
	CHECK_IS(scripted_do(&child, 'z'), 0);
}

/* Checks that the kill of a suspended target closes the pipe that was passed as dbg_fd, and that
 * the driver then finds no process by the pid (ESRCH). */
static RULE_CHECK(life_target_killed_while_suspended, debugged(&child, &gpu.kfd, NEW_MASK, &events))
{
	CHECK_IS(clear_and_suspend(gpu.kfd, child.pid), 1);
	CHECK_IS(scripted_do(&child, 'w'), 0);
	scripted_kill(&child);
	CHECK(WITHIN(1000, dots(events) == -1));
	CHECK_IS(trap_disable(gpu.kfd, child.pid), -ESRCH);
	debugged(&child, &gpu.kfd, 0, NULL);
	STEPS(&child, "w W=1");
}

/* Sends a command that ends the program (exec or death) and waits until that closes the pipe. */
static void leaves(struct scripted_child *scripted, char step)
{
	int ready = 0;

	scripted_send(scripted, step);
	for (int i = 0; i < 300; i++) {
		ready = poll_one_ns(scripted->child.from, 0, wait_end_ms(10));
		if (ready & POLLHUP)
			break;
		let_go_on(scripted->pid);
	}
	CHECK(ready & POLLHUP);
}

static RULE_CHECK(life_target_exec_ends_session, debugged(&child, &gpu.kfd, 0, NULL))
{
	CHECK_IS(clear_and_suspend(gpu.kfd, child.pid), 1);
	leaves(&child, 'x');
	CHECK_IS(trap_disable(gpu.kfd, child.pid), -ESRCH);
	CHECK_IS(clear_and_suspend(gpu.kfd, child.pid), -ESRCH);
}

static RULE_CHECK(life_target_crash_ends_session, debugged(&child, &gpu.kfd, 0, &events))
{
	CHECK_IS(clear_and_suspend(gpu.kfd, child.pid), 1);
	leaves(&child, 'k');
	CHECK_IS(trap_disable(gpu.kfd, child.pid), -ESRCH);
	CHECK(WITHIN(1000, dots(events)));
	CHECK_IS(dots(events), -1);
	CHECK(WIFSIGNALED(child_end(&child.child)));
}

static RULE_CHECK(life_fork_child_is_no_target, debugged(&child, &gpu.kfd, 0, NULL))
{
	pid_t pid;

	CHECK_IS(clear_and_suspend(gpu.kfd, child.pid), 1);
	pid = scripted_do(&child, 'f');
	CHECK(pid > 0);
	CHECK_IS(trap_disable(gpu.kfd, pid), -ESRCH);
	CHECK_IS(clear_and_suspend(gpu.kfd, pid), -ESRCH);
	CHECK_IS(trap_disable(gpu.kfd, child.pid), 0);
	CHECK_IS(scripted_do(&child, 'F'), 0);
	/* The end of the child changes nothing: the target still has no session. */
	CHECK_IS(trap_disable(gpu.kfd, child.pid), -EINVAL);
}

/* Creates a process with this pid, if that is permitted. */
static pid_t process_with_pid(pid_t wanted)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
		uint64_t set_tid, set_tid_size;
	} args = {
		.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&wanted, .set_tid_size = 1};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);

	if (!pid) {
		close_range(0, ~0u, 0); /* the pipes must not stay open in the child */
		for (;;)
			pause();
	}
	return pid;
}

static RULE_CHECK(life_pid_reuse_is_esrch, debugged(&child, &gpu.kfd, 0, NULL))
{
	pid_t again;

	scripted_kill(&child);
	again = process_with_pid(child.pid);
	if (again != child.pid)
		SKIP("a process with a given pid needs CAP_CHECKPOINT_RESTORE");
	CHECK_IS(trap_disable(gpu.kfd, again), -ESRCH);
	CHECK_IS(clear_and_suspend(gpu.kfd, again), -ESRCH);
	kill(again, SIGKILL);
}
