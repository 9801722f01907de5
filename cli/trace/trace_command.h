/* SPDX-License-Identifier: MIT */
/*
 * Starts the command whose run is traced. libkfdshim.so is preloaded, as by "kfdsched run". The
 * command stays in the process group of kfdsched, so that Ctrl-C reaches both.
 *
 * Threads: the first thread, before there are others, because command_start() forks. Errors:
 * negative errno.
 */
#ifndef KFDSHIM_CLI_TRACE_TRACE_COMMAND_H
#define KFDSHIM_CLI_TRACE_TRACE_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/util/command.h"

struct command {
	pid_t pid; /* 0: no command was started */
	int pidfd; /* readable when the command has ended */
	/* Read end of the command's stderr, O_NONBLOCK; -1: the command writes to the
	 * stderr of kfdsched. */
	int talk;
	bool ended; /* `status` is valid */
	int status; /* as from waitpid(2) */
};

struct command_options {
	/* NULL-terminated; argv[0] is looked up in PATH. */
	char **argv;
	/* The caller reads the command's stderr from command->talk. */
	bool reads_stderr;
	bool stdout_is_ours;		     /* the command's stdout goes to our stderr */
	const char *const (*environment)[2]; /* name and value (NULL: unset), up to a NULL name */
};

/* Starts the command. Returns 0, -ENOENT if libkfdshim.so was not found, or another negative errno
 * if no process could be created. A failed exec is reported by the child: one line on its stderr,
 * and exit code 127 (not found) or 126, as a shell reports it. */
int command_start(struct command *command, const struct cli_command *cmd,
		  const struct command_options *options);
/* Returns true if the command has ended. Does not wait. */
bool command_has_ended(struct command *command);
/* Returns the exit code of the command as a shell reports it: 128 + N if signal N
 * ended the command. */
int command_code(const struct command *command);
/* Closes the fds. Does not end the command. */
void command_close(struct command *command);

#endif
