/* SPDX-License-Identifier: MIT */
/*
 * A command that is started for a trace: with the shim preloaded, as `kfdsched run` does it,
 * in our own process group, so that Ctrl-C reaches it, too.
 * Threads: the first, before there are others. Errors: negative errno.
 */
#ifndef KFDSHIM_CLI_TRACE_COMMAND_H
#define KFDSHIM_CLI_TRACE_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "scheduler/cli/cli.h"

struct command {
	pid_t pid;  /* 0: there is none */
	int pidfd;  /* to poll for its end */
	int talk;   /* its stderr, O_NONBLOCK, when it is read; -1: it has ours */
	bool ended; /* and then: */
	int status; /* of waitpid(2) */
};

struct command_options {
	char **argv;
	bool reads_stderr;
	bool stdout_is_ours;		     /* what it prints goes to our stderr */
	const char *const (*environment)[2]; /* name and value (NULL: without), up to NULL */
};

int command_start(struct command *command, const struct verb *verb,
		  const struct command_options *options);
/* Has it ended? Does not wait. */
bool command_has_ended(struct command *command);
/* Its exit code, as a shell tells it. */
int command_code(const struct command *command);
void command_close(struct command *command);

#endif
