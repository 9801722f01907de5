// SPDX-License-Identifier: MIT
#include "cli/trace/trace_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/util/interrupt.h"

/* Exit codes of a shell if a command cannot be started. */
#define NOT_FOUND 127
#define NOT_EXECUTABLE 126
/* The shim drops a log line that would have to wait, so the pipe is made large. */
#define PIPE_BYTES (1 << 20)

/* Runs in the child. Returns only by exec or exit. */
static _Noreturn void become(const struct cli_command *cmd, const struct command_options *options,
			     const char *shim, int talk)
{
	int error;

	stop_child();
	signal(SIGPIPE, SIG_DFL);
	for (size_t i = 0; options->environment[i][0]; i++) {
		const char *const *pair = options->environment[i];

		if (pair[1] ? setenv(pair[0], pair[1], 1) : unsetenv(pair[0]))
			_exit(NOT_EXECUTABLE);
	}
	if (cli_preload(shim)) {
		cli_failed(cmd,
			   "LD_PRELOAD cannot contain %s, which has a space or colon: move the "
			   "build to another directory",
			   shim);
		_exit(NOT_EXECUTABLE);
	}
	if (options->stdout_is_ours)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	/* From here on a message of this function goes to the caller, too. */
	if (talk >= 0)
		dup2(talk, STDERR_FILENO);
	execvp(options->argv[0], options->argv);
	error = errno;
	cli_failed(cmd, "cannot start %s: %s", options->argv[0], strerror(error));
	_exit(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

int command_start(struct command *command, const struct cli_command *cmd,
		  const struct command_options *options)
{
	int talk[2] = {-1, -1}, error;
	char shim[PATH_MAX];

	*command = (struct command){.pidfd = -1, .talk = -1};
	error = cli_beside("libkfdshim.so", shim);
	if (error)
		return error;
	if (options->reads_stderr) {
		if (pipe2(talk, O_CLOEXEC))
			return -errno;
		fcntl(talk[0], F_SETFL, O_NONBLOCK);
		fcntl(talk[0], F_SETPIPE_SZ, PIPE_BYTES); /* fails: the default size stays */
	}
	fflush(NULL);
	command->pid = fork();
	if (command->pid == 0)
		become(cmd, options, shim, talk[1]);
	error = command->pid < 0 ? -errno : 0;
	if (talk[1] >= 0)
		close(talk[1]);
	command->talk = talk[0];
	if (!error) {
		command->pidfd = (int)syscall(SYS_pidfd_open, command->pid, 0);
	} else {
		command->pid = 0;
		command_close(command);
	}
	return error;
}

bool command_has_ended(struct command *command)
{
	if (command->pid && !command->ended)
		command->ended = waitpid(command->pid, &command->status, WNOHANG) == command->pid;
	return command->ended;
}

int command_code(const struct command *command)
{
	return cli_exit_code(command->status);
}

void command_close(struct command *command)
{
	if (command->pidfd >= 0)
		close(command->pidfd);
	if (command->talk >= 0)
		close(command->talk);
	command->pidfd = command->talk = -1;
}
