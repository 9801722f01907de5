// SPDX-License-Identifier: MIT
/* One poll() waits for all that can happen: output (two pipes), the end of children (signalfd), and
 * a request to stop (stop_fd()). */
#include "cli/util/child_output.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/util/command.h"
#include "cli/util/interrupt.h"
#include "common/allocate.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/proc.h"
#include "common/wait.h"

/* Longest waits: for the command to end after SIGTERM, and then for its group to disappear. */
#define TERM_NS UINT64_C(5000000000)
#define DIE_NS UINT64_C(2000000000)

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int child_output_start(struct child_output *s, char *const *argv, int stdout_file, int stderr_file,
		       int stdout_to, int stderr_to)
{
	const struct child_program program = {
		.argv = (const char *const *)argv,
		/* If stdin is a terminal, the command gets /dev/null, because a background process
		 * group that reads from the terminal is stopped by SIGTTIN. */
		.stdio = {isatty(STDIN_FILENO) ? CHILD_NULL : STDIN_FILENO, CHILD_PIPE, CHILD_PIPE},
		.death_signal = SIGTERM,
		.leads_group = true,
	};
	int output[2] = {-1, -1};
	sigset_t child;

	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	*s = (struct child_output){.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)};
	s->pid = s->signals < 0 ? -errno : child_start(&program, output);
	s->out = (struct child_stream){.from = output[0], .file = stdout_file, .to = stdout_to};
	s->err = (struct child_stream){.from = output[1], .file = stderr_file, .to = stderr_to};
	if (s->pid > 0)
		return 0;
	child_output_finish(s);
	return s->pid;
}

/* Writes the whole text to `fd`. Returns false if nothing can be written to `fd` any more. */
static bool write_whole(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			/* If the reader of `fd` does not read for a second, it loses the rest of
			 * this text, because the command must not be blocked for longer. */
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

/* Reads what the command has written to this stream so far, and copies it to stream->file and to
 * stream->to. */
static void take(struct child_output *s, struct child_stream *stream)
{
	char text[65536];
	ssize_t n;

	/* The number of reads is limited, because a command that writes without a pause must not
	 * delay the samples. */
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

/* Reaps all children: the command, and the processes that it has left behind. */
static void reap(struct child_output *s)
{
	struct signalfd_siginfo info;
	siginfo_t child = {0};

	while (read(s->signals, &info, sizeof(info)) > 0)
		;
	while (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 && child.si_pid > 0) {
		int status = 0;

		/* Kill the group while its leader is still a zombie. After the leader is reaped,
		 * another group could get the same number. */
		if (s->stopping && child.si_pid == s->pid)
			kill(-s->pid, SIGKILL);
		if (waitpid(child.si_pid, &status, 0) == s->pid) {
			s->status = status;
			s->ended = true;
		}
		child.si_pid = 0;
	}
}

bool child_output_wait(struct child_output *s, uint64_t until_ns)
{
	reap(s);
	while (!s->ended && !stop_requested()) {
		struct pollfd fds[] = {
			{.fd = s->signals, .events = POLLIN},
			{.fd = stop_fd(), .events = POLLIN},
			{.fd = s->out.from, .events = POLLIN},
			{.fd = s->err.from, .events = POLLIN},
		};

		if (clock_ns() >= until_ns)
			return false;
		poll_until_ns(fds, sizeof(fds) / sizeof(fds[0]), until_ns);
		take(s, &s->out);
		take(s, &s->err);
		reap(s);
	}
	return true;
}

/* Waits until all processes of the killed group are gone. Before that, they would be counted as
 * processes that outlive the command. The time is limited, because zombies count as members, and an
 * init process that reaps no children keeps them for ever. */
static void wait_for_group(const struct child_output *s)
{
	uint64_t end = clock_ns() + DIE_NS;

	while (kill(-s->pid, 0) == 0 && clock_ns() < end)
		sleep_ns(20000000);
}

void child_output_stop(struct child_output *s)
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

void child_output_finish(struct child_output *s)
{
	struct child_stream *streams[] = {&s->out, &s->err};

	for (unsigned i = 0; i < 2; i++) {
		/* Read only what is in the pipe now. What processes that outlive the command write
		 * later is not output of the command. */
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

/* ---- the processes of the command ---- */

#define PROCESSES 65536u /* most processes that are read from /proc */

struct proc_entry {
	pid_t pid, parent;
	bool zombie, ours; /* ours: already found to be a descendant */
};

/* Reads pid, parent and state of one process. Returns false if the name is no pid, or if the
 * process has ended. */
static bool read_entry(const char *name, struct proc_entry *out)
{
	struct proc_stat stat;
	pid_t pid = cli_pid(name);

	if (pid == 0 || !proc_stat(pid, &stat))
		return false;
	*out = (struct proc_entry){.pid = pid,
				   .parent = stat.parent,
				   .zombie = stat.state == 'Z' || stat.state == 'X'};
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct proc_entry *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Returns true if the parent of `e` is `root` or a descendant of `root` that was found already.
 * `list` is sorted by pid. */
static bool has_our_parent(const struct proc_entry *list, size_t n, pid_t root,
			   const struct proc_entry *e)
{
	const struct proc_entry key = {.pid = e->parent};
	const struct proc_entry *parent;

	if (e->parent == root)
		return true;
	parent = bsearch(&key, list, n, sizeof(*list), by_pid);
	return parent && parent->ours;
}

int descendants_of(pid_t root, pid_t *out, size_t max)
{
	DIR *dir = opendir("/proc");
	struct proc_entry *list;
	const struct dirent *entry;
	size_t n = 0, found = 0;
	bool more = true;

	if (!dir)
		return -errno;
	list = allocate(PROCESSES, sizeof(*list));
	while (n < PROCESSES && (entry = readdir(dir)))
		n += read_entry(entry->d_name, &list[n]);
	closedir(dir);
	qsort(list, n, sizeof(*list), by_pid);
	/* A parent can have a higher pid than its child, so repeat until a pass finds nothing
	 * new. */
	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			if (list[i].ours || !has_our_parent(list, n, root, &list[i]))
				continue;
			list[i].ours = more = true;
		}
	}
	for (size_t i = 0; i < n; i++)
		if (list[i].ours && !list[i].zombie && found < max)
			out[found++] = list[i].pid;
	free(list);
	return (int)found;
}
