// SPDX-License-Identifier: MIT
/* kfdsched preempt by a debug session of its own, for a process that no daemon knows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/preempt/hold_session.h"
#include "cli/preempt/preempt.h"

static void problem(struct preempt_result *result, const char *what, const char *why)
{
	snprintf(result->problem, sizeof(result->problem), "%s%s", what, why);
}

/* Records why a suspend failed. Returns true if the next round can be tried: a queue that was
 * not ready can be ready then. A GPU that did not preempt is not tried again, because the
 * driver resets it. */
static bool may_go_on(struct preempt_result *result, int error)
{
	if (error == -EBUSY) {
		problem(result, "a suspend failed: ", "a queue was not ready to be suspended");
		return true;
	}
	if (error == -EPERM)
		problem(result, "a suspend was refused: ", "its runtime is no longer enabled");
	else
		problem(result, "a suspend failed, and is not retried: ", strerror(-error));
	return false;
}

/* One round. The process is resumed in any case, also after a failed suspend. Returns false if no
 * further round must follow. */
static bool once(const struct preempt_job *job, struct session *session,
		 struct preempt_result *result)
{
	struct kfd_debug_cost suspended, resumed;
	int error, undo;

	result->tried++;
	error = trap_suspend(session->trap, &suspended);
	if (!error)
		session_wait_us(session, job->hold_us);
	undo = trap_resume(session->trap, &resumed);
	if (session->gone)
		problem(result, session->gone, "");
	else if (undo)
		problem(result, "a resume failed; the end of the session resumes the process: ",
			strerror(-undo));
	else if (error)
		return may_go_on(result, error);
	else if (!suspended.entry_ns)
		problem(result, "it has no compute queue that could be suspended", "");
	else
		return preempt_count(
			job, result,
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

static void preempt(const struct preempt_job *job, struct session *session,
		    struct preempt_result *result)
{
	while (result->tried < job->times) {
		if (result->tried || job->online)
			session_wait_us(session, job->pause_us);
		if (session->interrupted)
			problem(result, "interrupted", "");
		else if (session->gone)
			problem(result, session->gone, "");
		if (session->interrupted || session->gone || !once(job, session, result))
			break;
		preempt_progress(job, result);
	}
}

int preempt_direct(const struct preempt_job *job, int signals, struct preempt_result *result)
{
	struct session session;
	int code = hold_session_open(&session, &cmd_preempt, &job->target, signals);

	if (code != CLI_GO_ON)
		return code;
	result->opening_us = session.opening_us;
	preempt(job, &session, result);
	session_close(&session);
	return CLI_GO_ON;
}
