// SPDX-License-Identifier: MIT
/* What ends a debug session and what does not: exit, exec, fork, close, detach. */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/wait.h"
#include "tools/kfdconform/checks.h"
#include "tools/kfdconform/harness/scripted_child.h"

static int events;
static int kfd;
/* The target and its debugger. */
static struct scripted_child child, debugger;

/* Starts a debugger that is not the parent of its target, with queue 0 suspended and work
 * waiting. */
static void suspended(void)
{
	scripted_start(&child, "orq");
	scripted_start(&debugger, "o");
	scripted_aim(&debugger, child.pid);
	STEPS(&debugger, "S E P=1");
	STEPS(&child, "w z");
}

RULE_CHECK(life_debugger_killed_resumes, suspended())
{
	scripted_kill(&debugger);
	CHECK_IS(scripted_do(&child, 'W'), 1);
}

RULE_CHECK(life_debugger_killed_resumes_all, suspended())
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

RULE_CHECK(life_debugger_killed_allows_enable, suspended())
{
	struct kfdabi_runtime_info info;
	struct gpu_file own;

	scripted_kill(&debugger);
	CHECK_IS(scripted_do(&child, 'W'), 1);
	gpu_open(&own);
	seize(child.pid);
	CHECK_IS(trap_enable(own.kfd, child.pid, 0, STDERR_FILENO, &info), 0);
	CHECK_IS(info.runtime_state, KFDABI_RUNTIME_ENABLED);
	CHECK_IS(clear_and_suspend(own.kfd, child.pid), 1);
}

RULE_CHECK(life_debugger_exec_resumes, suspended())
{
	scripted_send(&debugger, 'x');
	CHECK_IS(scripted_do(&child, 'W'), 1);
	CHECK(!kill(debugger.pid, 0)); /* the debugger process still exists */
}

/* The session can be used through another file descriptor. */
RULE_CHECK(life_debugger_close_keeps_session, suspended())
{
	CHECK_IS(scripted_do(&debugger, 'c'), 0);
	for (int i = 0; i < 5; i++)
		CHECK_IS(scripted_do(&child, 'z'), 0);
	STEPS(&debugger, "o n=1");
	CHECK_IS(scripted_do(&child, 'z'), 0);
}

RULE_CHECK(life_target_close_keeps_session, suspended())
{
	CHECK_IS(scripted_do(&child, 'c'), 0);
	sleep_ms(5);
	CHECK_IS(scripted_do(&debugger, 'n'), 1);
	CHECK_IS(scripted_do(&child, 'z'), 0);
}

RULE_CHECK(life_detach_keeps_suspended, suspended())
{
	CHECK_IS(scripted_do(&debugger, 'T'), 0);
	for (int i = 0; i < 5; i++)
		CHECK_IS(scripted_do(&child, 'z'), 0);
	STEPS(&debugger, "S n=1");
	CHECK_IS(scripted_do(&child, 'z'), 0);
}

/* The other end of the pipe that was passed as dbg_fd is closed, and no process has the pid. */
RULE_CHECK(life_target_killed_while_suspended, debugged(&child, &kfd, NEW_MASK, &events))
{
	CHECK_IS(clear_and_suspend(kfd, child.pid), 1);
	CHECK_IS(scripted_do(&child, 'w'), 0);
	scripted_kill(&child);
	CHECK(WITHIN(1000, dots(events) == -1));
	CHECK_IS(trap_disable(kfd, child.pid), -ESRCH);
	debugged(&child, &kfd, 0, NULL);
	STEPS(&child, "w W=1");
}

/* Sends a command that ends the program (exec or death) and waits until the pipe is closed by
 * that. */
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

RULE_CHECK(life_target_exec_ends_session, debugged(&child, &kfd, 0, NULL))
{
	CHECK_IS(clear_and_suspend(kfd, child.pid), 1);
	leaves(&child, 'x');
	CHECK_IS(trap_disable(kfd, child.pid), -ESRCH);
	CHECK_IS(clear_and_suspend(kfd, child.pid), -ESRCH);
}

RULE_CHECK(life_target_crash_ends_session, debugged(&child, &kfd, 0, &events))
{
	CHECK_IS(clear_and_suspend(kfd, child.pid), 1);
	leaves(&child, 'k');
	CHECK_IS(trap_disable(kfd, child.pid), -ESRCH);
	CHECK(WITHIN(1000, dots(events)));
	CHECK_IS(dots(events), -1);
	CHECK(WIFSIGNALED(child_end(&child.child)));
}

RULE_CHECK(life_fork_child_is_no_target, debugged(&child, &kfd, 0, NULL))
{
	pid_t pid;

	CHECK_IS(clear_and_suspend(kfd, child.pid), 1);
	pid = scripted_do(&child, 'f');
	CHECK(pid > 0);
	CHECK_IS(trap_disable(kfd, pid), -ESRCH);
	CHECK_IS(clear_and_suspend(kfd, pid), -ESRCH);
	CHECK_IS(trap_disable(kfd, child.pid), 0);
	CHECK_IS(scripted_do(&child, 'F'), 0);
	/* The end of the child does not affect its parent's session. */
	CHECK_IS(trap_disable(kfd, child.pid), -EINVAL);
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

RULE_CHECK(life_pid_reuse_is_esrch, debugged(&child, &kfd, 0, NULL))
{
	pid_t again;

	scripted_kill(&child);
	again = process_with_pid(child.pid);
	if (again != child.pid)
		SKIP("a process with a given pid needs CAP_CHECKPOINT_RESTORE");
	CHECK_IS(trap_disable(kfd, again), -ESRCH);
	CHECK_IS(clear_and_suspend(kfd, again), -ESRCH);
	kill(again, SIGKILL);
}
