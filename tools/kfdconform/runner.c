// SPDX-License-Identifier: MIT
#include "tools/kfdconform/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "tools/kfdconform/checks.h"

static void (*const checks[KFDABI_RULES_END])(void) = {
#define RULE(id, kernels, needs, text) [RULE_##id] = check_##id,
#include "kfd/driver_rules.def"
};

/* Reads what is available into out->reason, of which the first line is used later. Returns false at
 * the end of the pipe. */
static bool hear(int fd, struct suite_outcome *out, size_t *n)
{
	char rest[256] = "";
	ssize_t got;

	do {
		size_t room = sizeof out->reason - 1 - *n;

		got = read(fd, room ? out->reason + *n : rest, room ? room : sizeof rest);
		if (got > 0 && room)
			*n += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got < 0;
}

/* Collects the output of the check, as far as there is room. Returns true if the check has ended.
 * The end of the pipe is no proof of that: children of a failed check or a driver that got the pipe
 * as dbg_fd can keep it open longer. */
static bool collect(int fd, int pidfd, struct suite_outcome *out, uint64_t until_ns)
{
	struct pollfd polled[2] = {{.fd = fd, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	size_t n = 0;

	for (;;) {
		if (clock_ns() >= until_ns || poll_until_ns(polled, 2, until_ns) == 0)
			return false;
		if (!hear(fd, out, &n))
			polled[0].fd = -1;
		if (polled[1].revents) {
			hear(fd, out, &n);
			return true;
		}
	}
}

/* Runs the check in the child process, with its output in the pipe. */
static _Noreturn void child(void (*check)(void), int fd)
{
	setpgid(0, 0);
	dup2(fd, STDERR_FILENO);
	dup2(fd, STDOUT_FILENO); /* stdout belongs to the table */
	if (fd > STDERR_FILENO)
		close(fd);
	check();
	_exit(0);
}

static bool tried_again(const char *line)
{
	return !strncmp(line, SUITE_TRIED_AGAIN, strlen(SUITE_TRIED_AGAIN));
}

/* Keeps one line. If the check has passed, the first line; otherwise the first line that is not
 * about a repetition. */
static void choose_line(char *chosen_line, bool passed)
{
	char *line = chosen_line, *next;

	while (!passed && tried_again(line) && (next = strchr(line, '\n')))
		line = next + 1;
	memmove(chosen_line, line, strlen(line) + 1);
	chosen_line[strcspn(chosen_line, "\n")] = '\0';
}

/* Sets the result from the wait status, and the reason. */
static void evaluate_status(struct suite_outcome *out, int status, bool ended)
{
	char chosen_line[sizeof out->reason];

	choose_line(out->reason, ended && WIFEXITED(status) && !WEXITSTATUS(status));
	if (!ended) {
		snprintf(out->reason, sizeof out->reason, "no end within %d s", SUITE_SECONDS);
		out->result = SUITE_FAIL;
	} else if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		out->result = SUITE_PASS;
		if (!tried_again(out->reason))
			out->reason[0] = '\0';
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == SUITE_SKIPPED) {
		out->result = SUITE_NOT_APPLICABLE;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == SUITE_TOO_BUSY) {
		out->result = SUITE_BUSY;
	} else {
		out->result = SUITE_FAIL;
		memcpy(chosen_line, out->reason, sizeof chosen_line);
		if (WIFSIGNALED(status))
			snprintf(out->reason, sizeof out->reason, "ended by signal %d%s%.440s",
				 WTERMSIG(status), chosen_line[0] ? ": " : "", chosen_line);
		else if (!chosen_line[0])
			snprintf(out->reason, sizeof out->reason, "exit status %d",
				 WEXITSTATUS(status));
	}
}

int suite_run(enum kfdabi_rule rule, struct suite_outcome *out)
{
	uint64_t start = clock_ns(), until = start + SUITE_SECONDS * 1000000000ull;
	int pipe_fd[2], pidfd, status = 0, r = 0;
	bool ended = false;
	pid_t pid;

	memset(out, 0, sizeof *out);
	if (pipe2(pipe_fd, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		r = -errno;
		close(pipe_fd[0]);
		close(pipe_fd[1]);
		return r;
	}
	if (!pid)
		child(checks[rule], pipe_fd[1]);
	setpgid(pid, pid);
	close(pipe_fd[1]);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK))
		r = -errno;
	else
		ended = collect(pipe_fd[0], pidfd, out, until);
	kill(-pid, SIGKILL);
	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(pipe_fd[0]);
	if (pidfd >= 0)
		close(pidfd);
	evaluate_status(out, status, ended);
	out->us = (clock_ns() - start) / 1000;
	return r;
}

void suite_check(enum kfdabi_rule rule)
{
	checks[rule]();
}
