// SPDX-License-Identifier: MIT
/* Starts a child that keeps another process suspended, and watches the child from the parent. */
#include "cli/preempt/preempt.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/allocate.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/wait.h"
#include "kfd/ptrace.h"

/* Signals that end the work early; the parent forwards them to the child. */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define ENDING (sizeof(ending) / sizeof(ending[0]))

/* Pid of the child, for the signal handler that forwards signals to it. */
static pid_t acting;

void *hold_child_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return allocated(memory == MAP_FAILED ? NULL : memory);
}

static void forward(int signal)
{
	kill(acting, signal);
}

/* Returns true if the signal must stay ignored. This is only so for SIGHUP if it is ignored now:
 * nohup has set that on purpose. An ignored SIGINT is handled all the same, because a shell ignores
 * it for every command that is started with &. */
static bool is_unwanted(int signal)
{
	struct sigaction now;

	return signal == SIGHUP && sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* Runs in the child: opens the signalfd and runs act(). */
static int child(const struct cli_command *cmd, int (*act)(void *context, int signals),
		 void *context, const sigset_t *set)
{
	int signals = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);

	if (signals < 0)
		return cli_failed(cmd, "cannot create a file descriptor for signals: %s",
				  strerror(errno));
	return act(context, signals);
}

/* Waits for the child's end, and kills the child if it is stopped (SIGSTOP, a debugger): a stopped
 * child keeps the target suspended, whereas its death ends the session, and the driver or the
 * daemon resumes the target. Returns the exit code. */
static int await(enum hold_child_end *end)
{
	int status = 0;

	*end = HOLD_CHILD_RETURNED;
	for (;;) {
		if (waitpid(acting, &status, WUNTRACED) < 0) {
			if (errno == EINTR)
				continue; /* a signal was forwarded */
			*end = HOLD_CHILD_KILLED;
			return CLI_FAILED;
		}
		if (!WIFSTOPPED(status))
			break;
		*end = HOLD_CHILD_STOPPED;
		kill(acting, SIGKILL);
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (*end == HOLD_CHILD_RETURNED)
		*end = HOLD_CHILD_KILLED;
	return CLI_FAILED;
}

int hold_child_run(const struct cli_command *cmd, int (*act)(void *context, int signals),
		   void *context, enum hold_child_end *end)
{
	struct sigaction action = {.sa_handler = forward}, old[ENDING];
	sigset_t set, before;
	int code;

	*end = HOLD_CHILD_RETURNED;
	sigemptyset(&set);
	for (size_t i = 0; i < ENDING; i++)
		if (!is_unwanted(ending[i]))
			sigaddset(&set, ending[i]);
	sigaddset(&set, SIGCHLD);
	/* The child must not stop on Ctrl-Z, because its target would stay suspended meanwhile.
	 * So SIGTSTP is blocked, but not read from the signalfd. */
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, &before);
	sigdelset(&set, SIGTSTP);
	acting = child_fork(SIGKILL, false);
	if (acting < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return cli_failed(cmd, "cannot start a child process: %s", strerror(errno));
	}
	if (acting == 0)
		exit(child(cmd, act, context, &set));
	for (size_t i = 0; i < ENDING; i++)
		if (!is_unwanted(ending[i]))
			sigaction(ending[i], &action, &old[i]);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	code = await(end);
	/* Forward no more signals, because another process may get the child's pid from now on. */
	for (size_t i = 0; i < ENDING; i++)
		if (!is_unwanted(ending[i]))
			sigaction(ending[i], &old[i], NULL);
	return code;
}

const char *hold_child_errmsg(enum hold_child_end end)
{
	switch (end) {
	case HOLD_CHILD_KILLED:
		return "the child that holds the process was killed";
	case HOLD_CHILD_STOPPED:
		return "the child that holds the process was stopped, and was ended for that";
	case HOLD_CHILD_RETURNED:
		break;
	}
	return "the process has ended";
}

/* ---- the debug session: one poll() waits for all that can happen, which are signals (signalfd),
 * the end of the process (pidfd), and the events of the session ---- */

#define ENDED "the process has ended"

/* Reads the signals that have arrived. SIGCHLD: the process may have stopped or ended. Any other
 * signal requests the end. */
static void take_signals(struct session *session)
{
	struct signalfd_siginfo info;

	while (read(session->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			session->interrupted = true;
		else if (trap_serve(session->trap) == -ESRCH)
			session->gone = ENDED;
	}
}

/* Handles events of the debug session: answers the runtime and suspends new queues. A hang-up of
 * the fd means that the session has ended. */
static void take_events(struct session *session, short revents)
{
	bool enabled = true;
	int error;

	if (revents & POLLIN) {
		error = trap_handle_events(session->trap, &enabled);
		if (error)
			session->ran_on = error;
	}
	if (!enabled)
		session->gone = "it has disabled its runtime";
	else if (revents & (POLLHUP | POLLERR))
		session->gone = target_has_ended(session->target)
					? ENDED
					: "its debug session was ended by another process";
}

/* Returns the time `us` from now, in ns of clock_ns(); limited, because `us` can be INFINITY. */
static uint64_t end_after(double us)
{
	double end_ns = (double)clock_ns() + us * 1e3;

	return end_ns < (double)WAIT_FOREVER ? (uint64_t)end_ns : WAIT_FOREVER;
}

void session_wait_us(struct session *session, double us)
{
	uint64_t end_ns = end_after(us);

	while (!session->interrupted && !session->gone && clock_ns() < end_ns) {
		struct pollfd fds[] = {
			{.fd = session->signals, .events = POLLIN},
			{.fd = session->target->pidfd, .events = POLLIN},
			{.fd = trap_events_fd(session->trap), .events = POLLIN},
		};

		if (poll_until_ns(fds, 3, end_ns) <= 0)
			continue;
		if (fds[0].revents)
			take_signals(session);
		if (fds[1].revents)
			session->gone = ENDED;
		else if (fds[2].revents)
			take_events(session, fds[2].revents);
	}
}

/* Reports why the session could not be opened. Returns the exit code: CLI_IMPOSSIBLE, for example
 * if another debugger has the process or the right to trace it is missing, or CLI_FAILED. Without a
 * daemon, libkfdshim.so can itself have a debug session on its process; the message then explains
 * how to end that session. */
static int refused(const struct cli_command *cmd, pid_t pid, int error, const char *reason)
{
	bool by_itself = (error == -EAGAIN || error == -EALREADY) &&
			 proc_maps_find(pid, "libkfdshim.so", NULL, 0) == 1 && tracer_is_free(pid);

	cli_failed(cmd, "%s%s", reason,
		   by_itself ? "; if libkfdshim.so holds it, because there is no daemon, start "
			       "kfdschedd, which takes it over"
			     : "");
	return error == -ESRCH || error == -EIO ? CLI_FAILED : CLI_IMPOSSIBLE;
}

int hold_session_open(struct session *session, const struct cli_command *cmd,
		      const struct target_process *target, int signals)
{
	struct reason reason;
	struct kfd_debug_cost settled = {0};
	int device, error;

	*session = (struct session){
		.trap = allocated(trap_create(target->pid, target->pidfd)),
		.target = target,
		.signals = signals,
	};
	device = kfd_device_open(&reason);
	error = device < 0 ? device : trap_attach(session->trap, device, &settled, &reason);
	/* The process does not announce new queues to kfdsched, so the driver has to report
	 * them. */
	if (!error && (error = trap_watch_queues(session->trap)) != 0) {
		snprintf(reason.text, sizeof(reason.text),
			 "process %d: new queues cannot be detected: %s", (int)target->pid,
			 strerror(-error));
		trap_detach(session->trap);
	}
	if (error) {
		trap_destroy(session->trap);
		return refused(cmd, target->pid, error, reason.text);
	}
	session->opening_us = settled.entry_ns ? (double)settled.duration_ns / 1e3 : NAN;
	return CLI_GO_ON;
}

void session_close(struct session *session)
{
	trap_detach(session->trap);
	trap_destroy(session->trap);
}
