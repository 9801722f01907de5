// SPDX-License-Identifier: MIT
#include "conform/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "conform/checks.h"

static void (*const checks[KFDABI_RULES_END])(void) = {
#define RULE(id, kernels, needs, text) [RULE_##id] = check_##id,
#include "abi/rules.def"
};

/* What the check says goes to the outcome, as far as there is room: the first
 * line is the reason. True: the check has ended, or closed its stderr. */
static bool collect(int fd, struct suite_outcome *out, size_t *n, uint64_t until_ns)
{
	for (;;) {
		uint64_t now = clock_ns();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char rest[256];
		size_t room = sizeof out->reason - 1 - *n;
		ssize_t got;

		if (now >= until_ns || poll(&p, 1, (int)((until_ns - now) / 1000000 + 1)) == 0)
			return false;
		got = read(fd, room ? out->reason + *n : rest, room ? room : sizeof rest);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return true;
		if (room)
			*n += (size_t)got;
	}
}

static _Noreturn void child(void (*check)(void), int fd)
{
	setpgid(0, 0);
	dup2(fd, STDERR_FILENO);
	dup2(fd, STDOUT_FILENO); /* stdout is the table's */
	if (fd > STDERR_FILENO)
		close(fd);
	check();
	_exit(0);
}

static void judge(struct suite_outcome *out, int status, bool ended)
{
	char said[sizeof out->reason];

	out->reason[strcspn(out->reason, "\n")] = '\0';
	if (!ended) {
		snprintf(out->reason, sizeof out->reason, "no end within %d s", SUITE_SECONDS);
		out->result = SUITE_FAIL;
	} else if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		out->result = SUITE_PASS;
		out->reason[0] = '\0';
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == SUITE_SKIPPED) {
		out->result = SUITE_NOT_APPLICABLE;
	} else {
		out->result = SUITE_FAIL;
		memcpy(said, out->reason, sizeof said);
		if (WIFSIGNALED(status))
			snprintf(out->reason, sizeof out->reason, "ended by signal %d%s%.440s",
				 WTERMSIG(status), said[0] ? ": " : "", said);
		else if (!said[0])
			snprintf(out->reason, sizeof out->reason, "exit status %d",
				 WEXITSTATUS(status));
	}
}

int suite_run(enum kfdabi_rule rule, struct suite_outcome *out)
{
	uint64_t start = clock_ns(), until = start + SUITE_SECONDS * 1000000000ull;
	int pipe_fd[2], status = 0;
	bool ended;
	size_t n = 0;
	pid_t pid;

	memset(out, 0, sizeof *out);
	if (pipe2(pipe_fd, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		status = -errno;
		close(pipe_fd[0]);
		close(pipe_fd[1]);
		return status;
	}
	if (!pid)
		child(checks[rule], pipe_fd[1]);
	setpgid(pid, pid);
	close(pipe_fd[1]);
	ended = collect(pipe_fd[0], out, &n, until);
	/* Children that a failed check left: they may hold the pipe, too. */
	while (ended && waitpid(pid, &status, WNOHANG) == 0 && clock_ns() < until)
		usleep(200);
	kill(-pid, SIGKILL);
	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	close(pipe_fd[0]);
	judge(out, status, ended);
	out->us = (clock_ns() - start) / 1000;
	return 0;
}

void suite_check(enum kfdabi_rule rule)
{
	checks[rule]();
}
