// SPDX-License-Identifier: MIT
/*
 * Runs the rounds of kfdsched preempt in one of two ways: by leases of the daemon that last until
 * their fd is closed, where the durations are read from the daemon's events; or by a debug session
 * of kfdsched's own, for a process that no daemon knows.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/preempt/preempt.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "common/wait.h"

#define EVENT_MS 3000 /* limit for the event of a suspend or resume */

struct act {
	const struct preempt_job *job;
	struct preempt_result *result;
	struct kfdsched *k; /* NULL: the rounds use `session` */
	/* Fds: the signalfd of hold_child_run(), and the daemon's events (-1: none). */
	int signals, events;
	bool interrupted; /* a signal has requested the end */
	struct session session;
};

static void problem(struct act *act, const char *what, const char *why)
{
	snprintf(act->result->problem, sizeof(act->result->problem), "%s%s%s", what,
		 why[0] ? ": " : "", why);
}

/* ---- by the daemon ---- */

/* Returns true, and records the reason, if the process to be measured has ended. Needed because the
 * daemon is asked to suspend a pid, which can belong to another process when the measured one has
 * ended. */
static bool has_ended(struct act *act)
{
	if (!target_has_ended(&act->job->target))
		return false;
	problem(act, "the process has ended", "");
	return true;
}

/* Waits for `us` microseconds. Returns earlier if the daemon's suspension ends (`fd`; -1: there is
 * none), if the process ends, or on a signal. */
static void wait_us(struct act *act, int fd, double us)
{
	struct pollfd fds[] = {{.fd = act->signals, .events = POLLIN},
			       {.fd = act->job->target.pidfd, .events = POLLIN},
			       {.fd = fd, .events = POLLIN}};
	uint64_t end = clock_ns() + (uint64_t)(us * 1e3);
	struct signalfd_siginfo info;

	while (!act->interrupted && poll_until_ns(fds, 3, end) > 0) {
		while (read(act->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			act->interrupted = true;
		if (fds[1].revents || fds[2].revents)
			return;
	}
}

/* A driver call as an event of the daemon reports it. */
struct daemon_call {
	double end_us; /* CLOCK_REALTIME, at the end of the call */
	double duration_us;
};

/* Reads events until the next one of this kind about the process. Returns false if none
 * arrives in EVENT_MS. */
static bool next(struct act *act, const char *kind, struct daemon_call *out)
{
	uint64_t end = clock_ns() + EVENT_MS * UINT64_C(1000000), now;
	char text[KFDSCHED_EVENT_BYTES];
	bool found = false;

	while (!found && (now = clock_ns()) < end) {
		const char *got;
		json_int_t pid = 0, duration = 0, time = 0;
		json_t *event;

		if (kfdsched_next_event(act->k, act->events, text, sizeof(text),
					(int)((end - now) / 1000000u)) < 0)
			return false;
		event = json_loads(text, 0, NULL);
		found = event &&
			json_unpack(event, "{ss sI sI sI}", "kind", &got, "pid", &pid, "time_us",
				    &time, "duration_us", &duration) == 0 &&
			pid == act->job->daemon_pid && strcmp(got, kind) == 0;
		if (found)
			*out = (struct daemon_call){(double)time, (double)duration};
		json_decref(event);
	}
	return found;
}

/* Waits until the process was suspended for job->hold_us, counted from the end of the suspend call.
 * So the time until the event of that call arrived is subtracted from the wait. */
static void hold(struct act *act, int fd, const struct daemon_call *suspend)
{
	double since_us = (double)clock_of(CLOCK_REALTIME) / 1e3 - suspend->end_us;

	wait_us(act, fd, fmax(0, act->job->hold_us - fmax(0, since_us)));
}

/* Converts a time of CLOCK_REALTIME in us to one of CLOCK_MONOTONIC in ns. */
static uint64_t monotonic_ns(double realtime_us)
{
	double ago_us = (double)clock_of(CLOCK_REALTIME) / 1e3 - realtime_us;

	return clock_ns() - (uint64_t)(fmax(0, ago_us) * 1e3);
}

static bool count(struct act *act, const struct daemon_call *suspend,
		  const struct daemon_call *resume)
{
	const struct preempt_round round = {
		.suspend_us = suspend->duration_us,
		.held_us = fmax(0, resume->end_us - resume->duration_us - suspend->end_us),
		.resume_us = resume->duration_us,
		.held_ns = monotonic_ns(suspend->end_us),
	};

	return preempt_count(act->job, act->result, round);
}

/* Finishes a round whose lease `fd` (suspension by the daemon until `fd` is closed) is granted:
 * waits for the hold time, closes `fd`, and waits for the resume. Returns false if no further round
 * must follow. */
static bool held(struct act *act, int fd)
{
	struct daemon_call suspend, resume;
	bool suspended = next(act, "suspend", &suspend), ended;

	if (suspended)
		hold(act, fd, &suspend);
	ended = has_ended(act);
	if (!ended && kfdsched_held(act->k, fd, 0) != 0)
		problem(act, "the lease was ended", kfdsched_errmsg(act->k));
	else if (!ended && !suspended)
		problem(act, "it was already suspended for another reason", "");
	close(fd);
	if (act->result->problem[0])
		return false;
	if (!next(act, "resume", &resume)) {
		if (!has_ended(act))
			problem(act, "it stays suspended for another reason", "");
		return false;
	}
	return count(act, &suspend, &resume);
}

/* Runs one round in which the daemon suspends the process. Returns false if this has to be the last
 * round. */
static bool once_by_daemon(struct act *act)
{
	int fd = kfdsched_hold(act->k, act->job->target.pid);

	/* Check this after the request: if the process has ended, the daemon may have suspended
	 * another process with the same pid, which must not stay suspended. */
	if (has_ended(act)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (fd < 0) {
		problem(act, "the daemon does not suspend it", kfdsched_errmsg(act->k));
		return false;
	}
	return held(act, fd);
}

/* ---- by a debug session ---- */

/* Records why a suspend failed. Returns true if the next round can be tried: a queue that was
 * not ready can be ready then. A GPU that did not preempt is not tried again, because the
 * driver resets it. */
static bool may_go_on(struct act *act, int error)
{
	if (error == -EBUSY) {
		problem(act, "a suspend failed", "a queue was not ready to be suspended");
		return true;
	}
	if (error == -EPERM)
		problem(act, "a suspend was refused", "its runtime is no longer enabled");
	else
		problem(act, "a suspend failed, and is not retried", strerror(-error));
	return false;
}

/* Runs one round in which kfdsched's own debug session suspends the process. The process is resumed
 * in any case, also after a failed suspend. Returns false if no further round must follow. */
static bool once_by_session(struct act *act)
{
	struct session *session = &act->session;
	struct kfd_debug_cost suspended, resumed;
	int error = kfd_debug_suspend(trap_session(session->trap), &suspended), undo;

	if (!error)
		session_wait_us(session, act->job->hold_us);
	undo = kfd_debug_resume(trap_session(session->trap), &resumed);
	if (session->gone)
		problem(act, session->gone, "");
	else if (undo)
		problem(act, "a resume failed; the end of the session resumes the process",
			strerror(-undo));
	else if (error)
		return may_go_on(act, error);
	else if (!suspended.entry_ns)
		problem(act, "it has no compute queue that could be suspended", "");
	else
		return preempt_count(
			act->job, act->result,
			(struct preempt_round){
				.suspend_us = (double)suspended.duration_ns / 1e3,
				.held_us = (double)(resumed.entry_ns - suspended.entry_ns -
						    suspended.duration_ns) /
					   1e3,
				.resume_us = (double)resumed.duration_ns / 1e3,
				.held_ns = suspended.entry_ns + suspended.duration_ns,
			});
	return false;
}

/* ---- both ---- */

/* Waits between two rounds. Returns true, and records the reason, if no round can follow. */
static bool is_over(struct act *act)
{
	bool pauses = act->result->tried || act->job->online;

	if (act->k && pauses)
		wait_us(act, -1, act->job->pause_us);
	else if (pauses)
		session_wait_us(&act->session, act->job->pause_us);
	if (act->interrupted || act->session.interrupted)
		problem(act, "interrupted", "");
	else if (act->session.gone)
		problem(act, act->session.gone, "");
	return act->interrupted || act->session.interrupted || act->session.gone ||
	       (act->k && has_ended(act));
}

/* Runs all rounds. The reason for an early end is recorded in the result. */
static void run_rounds(struct act *act)
{
	while (act->result->tried < act->job->times && !is_over(act)) {
		act->result->tried++;
		if (!(act->k ? once_by_daemon(act) : once_by_session(act)))
			break;
		preempt_progress(act->job, act->result);
	}
}

static int preempt_direct(struct act *act)
{
	int code = hold_session_open(&act->session, &cmd_preempt, &act->job->target, act->signals);

	if (code != CLI_GO_ON)
		return code;
	act->result->opening_us = act->session.opening_us;
	run_rounds(act);
	session_close(&act->session);
	return CLI_GO_ON;
}

static int preempt_by_daemon(struct act *act)
{
	int code = CLI_GO_ON;

	act->k = allocated(kfdsched_open(act->job->socket));
	act->events = kfdsched_events(act->k);
	if (act->events < 0) {
		code = cli_failed(&cmd_preempt, "%s", kfdsched_errmsg(act->k));
	} else {
		run_rounds(act);
		close(act->events);
	}
	kfdsched_close(act->k);
	return code;
}

int preempt_rounds(const struct preempt_job *job, int signals, struct preempt_result *result)
{
	struct act act = {.job = job, .result = result, .signals = signals, .events = -1};

	return job->daemon_pid ? preempt_by_daemon(&act) : preempt_direct(&act);
}
