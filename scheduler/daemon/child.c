// SPDX-License-Identifier: MIT
#include "scheduler/daemon/child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/daemon/log.h"

#define MS 1000000ull
#define QUICK_NS (5000 * MS)
#define PAUSE_FIRST_NS (100 * MS) /* delay of the restart after two early ends in a row */
#define PAUSE_MAX_NS (5000 * MS)

pid_t daemon_child_start(struct daemon_child *child, uint64_t now)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0) {
		int error = -errno;

		log_error("cannot start %s: %s; retrying", child->name, strerror(errno));
		child->next_start_ns = now + PAUSE_MAX_NS;
		return error;
	}
	if (pid == 0) {
		/* A process of the daemon must not outlive the watchdog, because nothing else
		 * would end the suspensions that it holds. The check of getppid() covers a
		 * watchdog that ended before prctl(). */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		prctl(PR_SET_NAME, child->name);
		return 0;
	}
	child->pid = pid;
	child->since_ns = now;
	child->killed = false;
	return pid;
}

bool child_reap(struct daemon_child *child, int *status)
{
	if (!child->pid || waitpid(child->pid, status, WNOHANG) != child->pid)
		return false;
	child->pid = 0;
	child->killed = false;
	return true;
}

bool child_is_stopped(const struct daemon_child *child)
{
	siginfo_t info = {0};

	return child->pid &&
	       waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == child->pid;
}

void child_failed(struct daemon_child *child, int status, uint64_t now)
{
	uint64_t pause = 0;

	child->quick_deaths = now - child->since_ns < QUICK_NS ? child->quick_deaths + 1 : 0;
	if (child->quick_deaths > 1) {
		unsigned doubled = child->quick_deaths - 2 < 6 ? child->quick_deaths - 2 : 6;

		pause = PAUSE_FIRST_NS << doubled;
		if (pause > PAUSE_MAX_NS)
			pause = PAUSE_MAX_NS;
	}
	child->next_start_ns = now + pause;
	log_error("%s ended by %s %d; restarting it%s", child->name,
		  WIFSIGNALED(status) ? "signal" : "exit code",
		  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		  pause ? " after a pause" : "");
}

void child_kill(struct daemon_child *child)
{
	if (!child->pid || child->killed)
		return;
	kill(child->pid, SIGKILL);
	child->killed = true;
}
