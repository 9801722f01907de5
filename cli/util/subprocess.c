// SPDX-License-Identifier: MIT
/*
 * A child with child_spec.sync is synchronized as follows: it gets --sync-fd R:W, writes one byte
 * to W when it is ready, and waits until it can read a byte from R, which child_go() writes. If W
 * is closed without a byte, the child is not ready and never will be.
 */
#include "cli/util/subprocess.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output/progress.h"
#include "cli/util/command.h"
#include "cli/util/interrupt.h"
#include "common/allocate.h"
#include "common/clock.h"
#include "common/proc.h"
#include "common/wait.h"

#define ARGUMENTS 32
#define VARIABLES 24
#define SYNC_TEXT 32
/* Time that a child has to end after SIGTERM before it gets SIGKILL, and time that a killed child
 * can hang in the driver before it is reported and left behind. */
#define TERM_MS 3000
#define KILL_MS 15000

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int process_group_open(struct process_group *children)
{
	sigset_t ours;

	*children = (struct process_group){.signals = -1};
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	/* child_go() on a child that has died must fail with EPIPE instead of ending this
	 * process. */
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &ours, &children->before))
		return -errno;
	children->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (children->signals < 0) {
		int error = errno;

		sigprocmask(SIG_SETMASK, &children->before, NULL);
		return -error;
	}
	return 0;
}

/* Copies at most `room` entries of the NULL-terminated list `from`, which can be NULL. Returns how
 * many entries were copied. */
static size_t copy(const char **to, size_t room, const char *const *from)
{
	size_t n = 0;

	for (; from && from[n] && n < room; n++)
		to[n] = from[n];
	return n;
}

/* Creates two pipes, and adds --sync-fd R:W to the arguments: R is the read end of `go`, W is the
 * write end of `ready`. The child inherits both. Returns 0 or a negative errno. */
static int add_sync(const char **argv, char text[SYNC_TEXT], int ready[2], int go[2])
{
	if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		return -errno;
	fcntl(go[0], F_SETFD, 0);
	fcntl(ready[1], F_SETFD, 0);
	snprintf(text, SYNC_TEXT, "%d:%d", go[0], ready[1]);
	argv[0] = "--sync-fd";
	argv[1] = text;
	return 0;
}

struct subprocess *process_group_start(struct process_group *children,
				       const struct child_spec *spec)
{
	const char *argv[ARGUMENTS] = {0}, *environment[VARIABLES] = {0};
	const struct child_program program = {
		.argv = argv,
		.environment = environment,
		.stdio = {CHILD_NULL, CHILD_NULL, CHILD_PIPE},
		.death_signal = spec->death_signal,
		.leads_group = true,
	};
	size_t n = copy(argv, ARGUMENTS - 3, spec->argv);
	char sync[SYNC_TEXT], *preload = cli_preload(spec->shim);
	int ready[2] = {-1, -1}, go[2] = {-1, -1}, output[2];
	struct subprocess *child = NULL;
	pid_t pid = children->count < CHILDREN ? 0 : -EMFILE;

	environment[copy(environment, VARIABLES - 2, spec->environment)] = preload;
	if (!pid && spec->sync)
		pid = add_sync(argv + n, sync, ready, go);
	if (!pid)
		pid = child_start(&program, output);
	free(preload);
	if (pid > 0) {
		child = &children->list[children->count++];
		*child = (struct subprocess){
			.pid = pid, .talk = output[1], .ready = ready[0], .go = go[1]};
		snprintf(child->name, sizeof(child->name), "%s", spec->name);
		ready[0] = go[1] = -1;
	}
	for (unsigned i = 0; i < 2; i++) {
		close_fd(&ready[i]);
		close_fd(&go[i]);
	}
	if (!child)
		errno = -pid;
	return child;
}

/* Prints the line in child->line, prefixed with the child's name, and empties the buffer. */
static void repeat(struct subprocess *child)
{
	/* Programs begin their messages with their own name, which is also the last word of
	 * child->name. Print the name only once. */
	const char *program = strrchr(child->name, ' ');
	size_t length = program ? strlen(++program) : 0;
	size_t skip = 0;

	if (length > 0 && child->used > length + 2 && memcmp(child->line, program, length) == 0 &&
	    memcmp(child->line + length, ": ", 2) == 0)
		skip = length + 2;
	if (child->used > 0)
		progress_note("%s: %.*s", child->name, (int)(child->used - skip),
			      child->line + skip);
	child->used = 0;
}

/* Reads the child's stderr and prints all complete lines; at its end also the incomplete one. */
static void listen_to(struct subprocess *child)
{
	char c[512];
	ssize_t n;

	if (child->talk < 0)
		return;
	while ((n = read(child->talk, c, sizeof(c))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (c[i] == '\n' || child->used == sizeof(child->line))
				repeat(child);
			if (c[i] != '\n')
				child->line[child->used++] = c[i];
		}
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR) || child->ended) {
		repeat(child);
		close_fd(&child->talk);
	}
}

/* Sets child->is_ready if the child has written its byte to the pipe. If the pipe was closed
 * instead (EOF), the child will not become ready. */
static void take_ready(struct subprocess *child)
{
	char byte;

	child->is_ready = read(child->ready, &byte, 1) == 1;
	close_fd(&child->ready);
}

/* If the child has ended, kills what is left of its process group, reaps the child and prints the
 * rest of its messages. */
static void reap(struct subprocess *child)
{
	siginfo_t info = {0};

	if (child->ended ||
	    waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid == 0)
		return;
	/* The group id cannot be used again while its leader is a zombie, so kill the remaining
	 * processes of the group before reaping the leader. */
	kill(-child->pid, SIGKILL);
	child->status = child_wait(child->pid);
	child->ended = true;
	listen_to(child);
	close_fd(&child->ready);
	close_fd(&child->go);
}

int process_group_pump(struct process_group *children, int timeout_ms)
{
	struct pollfd fds[1 + 2 * CHILDREN];
	struct signalfd_siginfo info;
	int ready;

	/* poll() ignores entries whose fd is -1: closed pipes, and entries of children->list that
	 * are not used. */
	fds[0] = (struct pollfd){.fd = children->signals, .events = POLLIN};
	for (unsigned i = 0; i < CHILDREN; i++) {
		struct subprocess *child = &children->list[i];
		bool there = i < children->count;

		fds[1 + 2 * i] = (struct pollfd){.fd = there ? child->talk : -1, .events = POLLIN};
		fds[2 + 2 * i] = (struct pollfd){.fd = there ? child->ready : -1, .events = POLLIN};
	}
	ready = poll_until_ns(fds, 1 + 2 * CHILDREN, wait_end_ms(timeout_ms));
	if (ready < 0)
		return ready;
	for (unsigned i = 0; i < children->count; i++) {
		if (fds[1 + 2 * i].revents)
			listen_to(&children->list[i]);
		if (fds[2 + 2 * i].revents)
			take_ready(&children->list[i]);
	}
	while (read(children->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			children->stopped_by = (int)info.ssi_signo;
	for (unsigned i = 0; i < children->count; i++)
		reap(&children->list[i]);
	return children->stopped_by ? -EINTR : 0;
}

int child_go(struct subprocess *child)
{
	ssize_t n = write(child->go, "g", 1);
	int rc = n == 1 ? 0 : -errno;

	close_fd(&child->go);
	return rc;
}

const char *child_end_text(int status, char text[64])
{
	if (WIFSIGNALED(status))
		snprintf(text, 64, "was ended by SIG%s", sigabbrev_np(WTERMSIG(status)) ?: "?");
	else
		snprintf(text, 64, "exited with %d", WEXITSTATUS(status));
	return text;
}

/* Waits up to `ms` for the child's end. Returns true if it has ended. */
static bool wait_for(struct process_group *children, const struct subprocess *child, unsigned ms)
{
	uint64_t end = clock_ns() + ms * UINT64_C(1000000);

	while (!child->ended && clock_ns() < end)
		(void)process_group_pump(children, 20);
	return child->ended;
}

void process_group_empty(struct process_group *children)
{
	for (unsigned i = children->count; i-- > 0;) {
		struct subprocess *child = &children->list[i];

		if (!child->ended)
			kill(child->pid, SIGTERM);
		if (!wait_for(children, child, TERM_MS)) {
			kill(-child->pid, SIGKILL);
			if (!wait_for(children, child, KILL_MS))
				progress_note("%s: process %d was killed and has not ended: it "
					      "hangs in a driver call",
					      child->name, (int)child->pid);
		}
		close_fd(&child->talk);
		close_fd(&child->ready);
		close_fd(&child->go);
	}
	children->count = 0;
}

void process_group_close(struct process_group *children)
{
	process_group_empty(children);
	close_fd(&children->signals);
	sigprocmask(SIG_SETMASK, &children->before, NULL);
}

/* ---- one command and its output ---- */

/* One poll() waits for all that can happen: output (two pipes), the end of children (signalfd), and
 * a request to stop (stop_fd()). */

/* Longest waits: for the command to end after SIGTERM, and then for its group to disappear. */
#define COMMAND_TERM_NS UINT64_C(5000000000)
#define COMMAND_DIE_NS UINT64_C(2000000000)

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
static void reap_all(struct child_output *s)
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
	reap_all(s);
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
		reap_all(s);
	}
	return true;
}

/* Waits until all processes of the killed group are gone, because a process that is still there
 * would be counted as one that outlives the command. The time is limited, because zombies count as
 * members, and an init process that reaps no children keeps them for ever. */
static void wait_for_group(const struct child_output *s)
{
	uint64_t end = clock_ns() + COMMAND_DIE_NS;

	while (kill(-s->pid, 0) == 0 && clock_ns() < end)
		sleep_ns(20000000);
}

void child_output_stop(struct child_output *s)
{
	uint64_t end = clock_ns() + COMMAND_TERM_NS;

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
		reap_all(s);
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

#define PROCESSES 65536u /* maximum of processes that are read from /proc */

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
