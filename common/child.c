// SPDX-License-Identifier: MIT
#include "common/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/wait.h"

/* Pipes to a program, indexed by the fds that it has them on: stdout and stderr. stdin is never a
 * pipe. So its index (REPORT) has the pipe on which the child reports that exec has failed; a
 * successful exec closes that pipe. */
#define PIPES 3
#define REPORT STDIN_FILENO
#define READ_END 0
#define WRITE_END 1
#define NAP_NS 5000000u	    /* pause between two checks whether a child has ended */
#define KILL_NS 1000000000u /* maximum wait for the end of a killed child */

/* Sets all signals that have a handler to SIG_DFL. */
static void drop_handlers(void)
{
	struct sigaction action;

	for (int number = 1; number < NSIG; number++)
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			signal(number, SIG_DFL);
}

pid_t child_fork(int death_signal, bool leads_group)
{
	pid_t parent = getpid(), pid;
	sigset_t all, before;

	signal(SIGCHLD, SIG_DFL);
	fflush(NULL);
	/* Block all signals until drop_handlers(), so that no handler runs in the child. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	/* Called in parent and child, so that the group exists whichever of them runs first. */
	if (pid >= 0 && leads_group)
		setpgid(pid, pid);
	if (pid == 0) {
		drop_handlers();
		prctl(PR_SET_PDEATHSIG, death_signal);
		/* If the parent has ended before prctl(), no death signal will arrive. In a new
		 * pid namespace (unshare --pid) getppid() is 0, because the parent has no pid
		 * there. */
		if (getppid() != parent && getppid() != 0)
			_exit(126);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static void close_ends(int pipes[PIPES][2], int end)
{
	for (int i = 0; i < PIPES; i++)
		if (pipes[i][end] >= 0)
			close(pipes[i][end]);
}

/* Moves the fd above those of stdio, which prepare() replaces in the child: one of them is free if
 * kfdsched was started with it closed. Returns 0 or a negative errno. */
static int move_up(int *fd)
{
	int higher;

	if (*fd > STDERR_FILENO)
		return 0;
	higher = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (higher < 0)
		return -errno;
	close(*fd);
	*fd = higher;
	return 0;
}

static int open_pipes(const struct child_program *program, int pipes[PIPES][2])
{
	for (int i = 0; i < PIPES; i++) {
		if (i != REPORT && program->stdio[i] != CHILD_PIPE)
			continue;
		if (pipe2(pipes[i], O_CLOEXEC))
			return -errno;
		if (i != REPORT)
			fcntl(pipes[i][READ_END], F_SETFL, O_NONBLOCK);
		for (int end = READ_END; end <= WRITE_END; end++) {
			int error = move_up(&pipes[i][end]);

			if (error)
				return error;
		}
	}
	return 0;
}

/* Prepares the forked child for the exec of the program: its stdio, environment and signals.
 * Returns false with errno on an error. */
static bool prepare(const struct child_program *program, int pipes[PIPES][2])
{
	const char *const *setting = program->environment;
	sigset_t none;

	for (int i = 0; i < 3; i++) {
		int from = program->stdio[i];

		if (from == CHILD_NULL)
			from = open("/dev/null", O_RDWR | O_CLOEXEC);
		else if (from == CHILD_PIPE)
			from = pipes[i][WRITE_END];
		/* Skip a stream that is inherited as it is: if it is closed, it stays closed. */
		if (from != i && dup2(from, i) < 0)
			return false;
	}
	/* putenv() of a name without '=' removes the variable. */
	for (; setting && *setting; setting++)
		if (putenv((char *)(uintptr_t)*setting))
			return false;
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* Executes the program in the forked child. If that fails, reports the error on the pipe REPORT and
 * exits. */
static _Noreturn void become(const struct child_program *program, int pipes[PIPES][2])
{
	int error;

	if (prepare(program, pipes))
		execvp(program->path ? program->path : program->argv[0],
		       (char *const *)(uintptr_t)program->argv);
	error = -errno;
	_exit(write(pipes[REPORT][WRITE_END], &error, sizeof(error)) < 0 ? 126 : 127);
}

/* Waits until the child has called exec. Returns 0, or the negative errno that the child reports if
 * exec has failed. */
static int exec_error(int from)
{
	int error = 0;

	return TEMP_FAILURE_RETRY(read(from, &error, sizeof(error))) < 0 ? -errno : error;
}

pid_t child_start(const struct child_program *program, int output[2])
{
	int pipes[PIPES][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
	int error = open_pipes(program, pipes);
	pid_t pid = -1;

	if (!error) {
		pid = child_fork(program->death_signal, program->leads_group);
		if (pid == 0)
			become(program, pipes);
		error = pid < 0 ? -errno : 0;
	}
	close_ends(pipes, WRITE_END);
	if (!error) {
		error = exec_error(pipes[REPORT][READ_END]);
		if (error)
			child_wait(pid);
	}
	for (int i = STDOUT_FILENO; !error && output && i < PIPES; i++) {
		output[i - STDOUT_FILENO] = pipes[i][READ_END];
		pipes[i][READ_END] = -1;
	}
	close_ends(pipes, READ_END);
	return error ? error : pid;
}

int child_wait(pid_t pid)
{
	int status;

	return TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) < 0 ? -errno : status;
}

/* Reads the pipe into `out` until all its writers have closed it. Returns 0, or an error of
 * child_collect(). */
static int read_all(int from, uint64_t deadline, char *out, size_t size)
{
	size_t used = 0;

	while (used < size) {
		int ready = poll_one_ns(from, POLLIN, deadline);
		ssize_t n;

		if (ready <= 0)
			return ready ? ready : -ETIMEDOUT;
		n = TEMP_FAILURE_RETRY(read(from, out + used, size - used));
		if (n <= 0)
			return n ? -errno : 0;
		used += (size_t)n;
		out[used < size ? used : size - 1] = '\0';
	}
	return -EFBIG;
}

/* Waits for the child's end, without reaping it. It is polled, because pidfd_open(2) can be refused
 * (an old seccomp filter). Returns 0 or -ETIMEDOUT. */
static int await_end(pid_t pid, uint64_t deadline)
{
	siginfo_t info = {0};

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid) {
		if (clock_ns() >= deadline)
			return -ETIMEDOUT;
		sleep_ns(NAP_NS);
	}
	return 0;
}

int child_collect(const struct child_program *program, uint64_t deadline, char *out, size_t size)
{
	struct child_program started = *program;
	int output[2], error, status;
	pid_t pid;

	out[0] = '\0';
	started.stdio[STDOUT_FILENO] = CHILD_PIPE;
	started.death_signal = SIGKILL;
	started.leads_group = true;
	pid = child_start(&started, output);
	if (pid < 0)
		return pid;
	error = read_all(output[0], deadline, out, size);
	if (!error)
		error = await_end(pid, deadline);
	close(output[0]);
	/* The child has not been reaped yet, so its pid still names its process group. */
	kill(-pid, SIGKILL);
	/* A program that changed its user cannot be killed, and one in a driver call does not end:
	 * it is left behind. */
	if (error && await_end(pid, clock_ns() + KILL_NS))
		return error;
	status = child_wait(pid);
	return error ? error : status;
}
