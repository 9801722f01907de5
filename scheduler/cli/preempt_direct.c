// SPDX-License-Identifier: MIT
/* By a debug session of our own, for a process that no daemon knows. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "scheduler/cli/ask.h"
#include "scheduler/cli/preempt.h"
#include "scheduler/kfd/trap.h"

struct act {
	const struct preempt_job *job;
	struct trap *trap;
	int pidfd, signals;
	bool interrupted, gone;
};

static void take_signals(struct act *act)
{
	struct signalfd_siginfo info;

	while (read(act->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			act->gone |= trap_serve(act->trap) == -ESRCH;
		else
			act->interrupted = true;
	}
}

/* The target must not notice: its signals go on, its runtime's calls are answered. */
static void wait_us(struct act *act, double us)
{
	uint64_t end = clock_ns() + (uint64_t)(us * 1e3), now;

	while (!act->interrupted && !act->gone && (now = clock_ns()) < end) {
		struct pollfd fds[] = {
			{.fd = act->signals, .events = POLLIN},
			{.fd = act->pidfd, .events = POLLIN},
			{.fd = trap_events_fd(act->trap), .events = POLLIN},
		};

		if (poll(fds, 3, (int)((end - now) / 1000000u) + 1) <= 0)
			continue;
		if (fds[0].revents)
			take_signals(act);
		if (fds[1].revents || fds[2].revents & (POLLHUP | POLLERR))
			act->gone = true;
		else if (fds[2].revents & POLLIN)
			trap_answer_runtime(act->trap);
	}
}

/* Resumes whatever came of the suspend. */
static int once(struct act *act, struct preempt_result *result)
{
	struct trap_cost suspended, resumed;
	int error = trap_suspend(act->trap, &suspended), undo;

	if (!error)
		wait_us(act, act->job->hold_us);
	undo = trap_resume(act->trap, &resumed);
	if (act->gone) {
		snprintf(result->problem, sizeof(result->problem),
			 "it has ended, or its debug session was ended");
	} else if (error) {
		snprintf(result->problem, sizeof(result->problem),
			 "a suspend failed: %s; it is not tried again", strerror(-error));
	} else if (undo) {
		snprintf(result->problem, sizeof(result->problem),
			 "a resume failed: %s; the end of the session resumes it", strerror(-undo));
	} else if (!suspended.entry_ns) {
		snprintf(result->problem, sizeof(result->problem),
			 "it has no compute queue that could be suspended");
	} else {
		if (preempt_count(act->job, result, (double)suspended.duration_ns / 1e3,
				  (double)resumed.duration_ns / 1e3))
			return 0;
	}
	return -1;
}

static void preempt(struct act *act, struct preempt_result *result)
{
	for (unsigned i = 0; i < act->job->times && !act->interrupted; i++) {
		if (i)
			wait_us(act, act->job->pause_us);
		if (act->interrupted || once(act, result))
			break;
	}
	if (act->interrupted && result->done < act->job->times)
		snprintf(result->problem, sizeof(result->problem), "interrupted");
}

/* That somebody else has it, or that we may not, is how things are here. */
static int refused(int error, const char *reason)
{
	cli_failed(&verb_preempt, "%s", reason);
	return error == -ESRCH || error == -EIO ? CLI_FAILED : CLI_IMPOSSIBLE;
}

static int attach(struct act *act)
{
	char reason[KFD_REASON];
	struct trap_cost settled;
	int device = kfd_device_open(reason);
	int error = device < 0 ? device : trap_attach(act->trap, device, &settled, reason);

	return error ? refused(error, reason) : ASK_GO_ON;
}

int preempt_direct(const struct preempt_job *job, int pidfd, int signals,
		   struct preempt_result *result)
{
	struct act act = {.job = job, .pidfd = pidfd, .signals = signals};
	int code;

	act.trap = trap_create(job->pid, pidfd);
	if (!act.trap)
		return cli_failed(&verb_preempt, "no memory for a debug session");
	code = attach(&act);
	if (code == ASK_GO_ON) {
		preempt(&act, result);
		trap_detach(act.trap);
	}
	trap_destroy(act.trap);
	return code;
}
