// SPDX-License-Identifier: MIT
/* Records two commands at the same time, each in a process of its own. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/record/record.h"
#include "cli/util/command.h"
#include "cli/util/interrupt.h"
#include "common/wait.h"

/* The process that records one command. */
struct recording_process {
	pid_t pid;
	int pidfd; /* readable when it has ended; -1: it has ended and was reaped */
};

/* Runs in the process that records. A signal that ends kfdsched stops the command as well: without
 * its parent, this process gets SIGTERM. */
static _Noreturn void become(const struct record_options *options, pid_t parent)
{
	int code;

	stop_child();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* If the parent has died before prctl(), no signal will arrive. */
	if (getppid() != parent)
		_exit(CLI_FAILED);
	code = record_command(options);
	fflush(NULL);
	_exit(code);
}

static int start(struct recording_process *process, const struct record_options *options)
{
	pid_t parent = getpid();

	/* Otherwise the child would write buffered output of this process again. */
	fflush(NULL);
	process->pid = fork();
	if (process->pid == 0)
		become(options, parent);
	if (process->pid < 0)
		return -errno;
	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd >= 0)
		return 0;
	int error = -errno;

	kill(process->pid, SIGTERM);
	waitpid(process->pid, NULL, 0);
	return error;
}

/* Reaps a process that has ended. */
static void reap(struct recording_process *process, int *code)
{
	int status;

	if (waitpid(process->pid, &status, 0) == process->pid)
		*code = cli_exit_code(status);
	close(process->pidfd);
	process->pidfd = -1;
}

static void stop_both(const struct recording_process *processes)
{
	for (unsigned i = 0; i < 2; i++)
		if (processes[i].pidfd >= 0)
			kill(processes[i].pid, SIGTERM);
}

/* Waits until both have ended. The first signal to stop is passed on; the processes then stop
 * their commands and complete their recordings. */
static void wait_for_both(struct recording_process *processes, int *codes)
{
	int stop = stop_fd();

	while (processes[0].pidfd >= 0 || processes[1].pidfd >= 0) {
		struct pollfd fds[] = {
			{.fd = processes[0].pidfd, .events = POLLIN},
			{.fd = processes[1].pidfd, .events = POLLIN},
			{.fd = stop, .events = POLLIN},
		};

		poll_until_ns(fds, sizeof(fds) / sizeof(fds[0]), UINT64_MAX);
		if (fds[2].revents) {
			stop_both(processes);
			stop = -1; /* it stays readable */
		}
		for (unsigned i = 0; i < 2; i++)
			if (fds[i].revents)
				reap(&processes[i], &codes[i]);
	}
}

int record_two(const struct record_options sides[2], int codes[2])
{
	struct recording_process processes[2] = {{.pidfd = -1}, {.pidfd = -1}};
	int rc = 0;

	codes[0] = codes[1] = CLI_FAILED;
	/* With an inherited SIG_IGN the kernel would reap the processes, and their exit codes would
	 * be lost. */
	signal(SIGCHLD, SIG_DFL);
	for (unsigned i = 0; rc == 0 && i < 2; i++)
		rc = start(&processes[i], &sides[i]);
	if (rc)
		stop_both(processes);
	wait_for_both(processes, codes);
	return rc;
}
