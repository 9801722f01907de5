// SPDX-License-Identifier: MIT
#include "scheduler/cli/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"
#include "scheduler/cli/stop.h"

#define TERM_NS UINT64_C(5000000000)
#define DIE_NS UINT64_C(2000000000)

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* In the new process: only returns by exec or exit. */
static _Noreturn void become(char *const *argv, pid_t parent, int out, int err, int failed)
{
	sigset_t none;
	int error;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* We may have died between the fork and the line above. */
	if (getppid() != parent)
		_exit(126);
	/* A group in the background that reads the terminal would be stopped. */
	if (isatty(STDIN_FILENO)) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (null >= 0)
			dup2(null, STDIN_FILENO);
	}
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	stop_child();
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	error = errno;
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* 0, or why the exec failed. */
static int exec_error(int from)
{
	int error = 0;
	ssize_t n;

	do
		n = read(from, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? -error : 0;
}

int shown_start(struct shown *s, char *const *argv, int stdout_file, int stderr_file, int stdout_to,
		int stderr_to)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1}, failed[2] = {-1, -1};
	pid_t parent = getpid();
	sigset_t child;
	int rc = 0;

	*s = (struct shown){
		.signals = -1,
		.out = {.from = -1, .file = stdout_file, .to = stdout_to},
		.err = {.from = -1, .file = stderr_file, .to = stderr_to},
	};
	/* Inherited as ignored, SIGCHLD would make the kernel reap behind us. */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	s->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0 || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
	    pipe2(failed, O_CLOEXEC)) {
		rc = -errno;
		goto done;
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	fflush(NULL);
	s->pid = fork();
	if (s->pid == 0)
		become(argv, parent, out[1], err[1], failed[1]);
	if (s->pid < 0) {
		rc = -errno;
		goto done;
	}
	/* In both processes, so that neither can be late. */
	setpgid(s->pid, s->pid);
	close_fd(&failed[1]);
	rc = exec_error(failed[0]);
	if (rc) {
		waitpid(s->pid, &s->status, 0);
		goto done;
	}
	s->out.from = out[0];
	s->err.from = err[0];
	out[0] = err[0] = -1;
done:
	for (unsigned i = 0; i < 2; i++) {
		close_fd(&out[i]);
		close_fd(&err[i]);
		close_fd(&failed[i]);
	}
	if (rc)
		shown_finish(s);
	return rc;
}

static bool write_whole(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* Whoever does not read for so long misses the rest of this. */
			if (poll_one_ns(fd, POLLOUT, wait_end_ms(1000)) > 0)
				continue;
			return true;
		}
		if (n <= 0)
			return false;
		text += n;
		bytes -= (size_t)n;
	}
	return true;
}

static void take(struct shown *s, struct shown_stream *stream)
{
	char text[65536];
	ssize_t n;

	/* A bounded number of times: who talks without end must not hold up the samples. */
	for (unsigned i = 0; i < 16 && stream->from >= 0; i++) {
		n = read(stream->from, text, sizeof(text));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			close_fd(&stream->from);
			return;
		}
		if (stream->file >= 0 && !write_whole(stream->file, text, (size_t)n)) {
			s->lost = true;
			close_fd(&stream->file);
		}
		if (stream->to >= 0 && !write_whole(stream->to, text, (size_t)n))
			stream->to = -1;
	}
}

/* Ours, and those that it left to us, as they end. */
static void reap(struct shown *s)
{
	struct signalfd_siginfo info;
	siginfo_t child = {0};

	while (read(s->signals, &info, sizeof(info)) > 0)
		;
	while (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 && child.si_pid > 0) {
		int status = 0;

		/* As long as it is a zombie its group cannot be anybody else's. */
		if (s->stopping && child.si_pid == s->pid)
			kill(-s->pid, SIGKILL);
		if (waitpid(child.si_pid, &status, 0) == s->pid) {
			s->status = status;
			s->ended = true;
		}
		child.si_pid = 0;
	}
}

void shown_wait(struct shown *s, uint64_t until_ns)
{
	reap(s);
	while (!s->ended && !stop_asked()) {
		struct pollfd fds[] = {
			{.fd = s->signals, .events = POLLIN},
			{.fd = stop_fd(), .events = POLLIN},
			{.fd = s->out.from, .events = POLLIN},
			{.fd = s->err.from, .events = POLLIN},
		};

		if (clock_ns() >= until_ns)
			return;
		poll_until_ns(fds, sizeof(fds) / sizeof(fds[0]), until_ns);
		take(s, &s->out);
		take(s, &s->err);
		reap(s);
	}
}

/* Whoever of its group was killed with its end may take a moment to die, and counts as one
 * who stayed until then. (An init that reaps nobody keeps them for ever.) */
static void wait_for_group(const struct shown *s)
{
	uint64_t end = clock_ns() + DIE_NS;

	while (kill(-s->pid, 0) == 0 && clock_ns() < end)
		sleep_ns(20000000);
}

void shown_stop(struct shown *s)
{
	uint64_t end = clock_ns() + TERM_NS;

	if (s->ended)
		return;
	s->stopping = true;
	kill(-s->pid, SIGTERM);
	while (!s->ended) {
		struct pollfd fds[] = {
			{.fd = s->signals, .events = POLLIN},
			{.fd = s->out.from, .events = POLLIN},
			{.fd = s->err.from, .events = POLLIN},
		};

		if (clock_ns() >= end) {
			kill(-s->pid, SIGKILL);
			end = UINT64_MAX;
		}
		poll_until_ns(fds, sizeof(fds) / sizeof(fds[0]), wait_end_ms(50));
		take(s, &s->out);
		take(s, &s->err);
		reap(s);
	}
	wait_for_group(s);
}

void shown_finish(struct shown *s)
{
	struct shown_stream *streams[] = {&s->out, &s->err};

	for (unsigned i = 0; i < 2; i++) {
		/* What a process that stays behind says from now on is not the command's. */
		for (unsigned n = 0; n < 64 && streams[i]->from >= 0; n++) {
			if (poll_now(streams[i]->from, POLLIN) <= 0)
				break;
			take(s, streams[i]);
		}
		close_fd(&streams[i]->from);
		close_fd(&streams[i]->file);
	}
	close_fd(&s->signals);
}
