// SPDX-License-Identifier: MIT
#include "kfd/ptrace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/proc.h"
#include "common/wait.h"

#define DETACH_TRIES 1000 /* polls, 1 ms apart */

static int yama(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &scope) != 1)
		scope = 0;
	fclose(f);
	return scope;
}

/* Finds out why PTRACE_SEIZE failed with EPERM, which the kernel returns for several causes.
 * tracer: thread that traces the target, or 0. Sets `reason`; returns -EAGAIN or -EPERM. */
static int refused(pid_t pid, long tracer, struct reason *reason)
{
	int scope;

	if (tracer > 0)
		return reason_set(reason, REASON_traced, pid, -EAGAIN, "%ld", tracer);
	scope = yama();
	if (!scope)
		return reason_set(reason, REASON_no_right_to_trace, pid, -EPERM, NULL);
	return reason_set(reason, scope == 3 ? REASON_yama_forbids : REASON_yama_restricts, pid,
			  -EPERM, "%d", scope);
}

static int seize(pid_t pid)
{
	return ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0 ? 0 : errno;
}

/* Returns the thread that traces the target; 0: none; -1: not known. */
static long tracer_of(pid_t pid)
{
	char status[PROC_STATUS_BYTES];
	const char *at = NULL;

	if (proc_status_read(pid, status, sizeof(status)) == 0)
		at = proc_status_field(status, "\nTracerPid:");
	return at ? atol(at) : -1;
}

int tracer_seize(pid_t pid, struct reason *reason)
{
	int error = seize(pid);
	long tracer = error == EPERM ? tracer_of(pid) : 0;

	/* Try again if no tracer is visible: a previous tracer may have detached just now, and then
	 * the EPERM was not for lack of permission. */
	if (error == EPERM && tracer == 0) {
		error = seize(pid);
		tracer = error == EPERM ? tracer_of(pid) : 0;
	}
	if (error == 0)
		return 0;
	if (error == EPERM)
		return refused(pid, tracer, reason);
	return reason_set(reason, REASON_trace_failed, pid, -error, NULL);
}

bool tracer_is_free(pid_t pid)
{
	return tracer_of(pid) == 0;
}

bool tracer_right_has_come(pid_t pid)
{
	char path[64], text[64];

	/* The kernel checks ptrace_may_access() for this link as for tracing, but without Yama. So
	 * tracing is permitted if the link can be read and Yama does not restrict it. */
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return tracer_is_free(pid) && readlink(path, text, sizeof(text)) > 0 && yama() == 0;
}

/* Lets the target continue after one stop, in the way that fits the cause of the stop. */
static void forward(pid_t pid, int status)
{
	int signal = WSTOPSIG(status);

	if (status >> 16 == PTRACE_EVENT_STOP) {
		/* A group-stop must last until SIGCONT, as it would without a tracer (LISTEN). With
		 * SIGTRAP the stop is the one after SIGCONT or after PTRACE_INTERRUPT. */
		if (signal == SIGTRAP)
			ptrace(PTRACE_CONT, pid, NULL, NULL);
		else
			ptrace(PTRACE_LISTEN, pid, NULL, NULL);
		return;
	}
	ptrace(PTRACE_CONT, pid, NULL, (void *)(long)signal);
}

int tracer_serve(pid_t pid)
{
	int status;
	pid_t got = waitpid(pid, &status, WNOHANG | __WALL | __WNOTHREAD);

	if (got == 0 || (got < 0 && errno == EINTR))
		return 0;
	if (got < 0 || !WIFSTOPPED(status))
		return -ESRCH;
	forward(pid, status);
	return 0;
}

bool tracer_pending(pid_t pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WNOHANG | WNOWAIT | WEXITED | WSTOPPED | __WALL) ==
		       0 &&
	       info.si_pid == pid;
}

bool tracer_any_pending(void)
{
	siginfo_t info = {0};

	return waitid(P_ALL, 0, &info, WNOHANG | WNOWAIT | WEXITED | WSTOPPED | __WALL) == 0 &&
	       info.si_pid != 0;
}

int tracer_detach(pid_t pid)
{
	int status;
	int signal;
	pid_t got;

	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 && errno == ESRCH)
		return -ESRCH;
	for (int i = 0; i < DETACH_TRIES; i++) {
		got = waitpid(pid, &status, WNOHANG | __WALL | __WNOTHREAD);
		if (got < 0 || (got == pid && !WIFSTOPPED(status)))
			return -ESRCH;
		if (got == pid) {
			/* A signal may have stopped the target before the interrupt did. That
			 * signal must be delivered. */
			signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
			ptrace(PTRACE_DETACH, pid, NULL, (void *)(long)signal);
			return 0;
		}
		sleep_ns(1000000);
	}
	return -ETIMEDOUT;
}
