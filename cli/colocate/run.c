// SPDX-License-Identifier: MIT
/* kfdsched run: starts a command with libkfdshim.so preloaded and its priority set. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/protocol.h"
#include "cli/util/parse_options.h"
#include "common/allocate.h"

/* Exit codes of a shell if a command cannot be started. */
#define NOT_FOUND 127
#define NOT_EXECUTABLE 126

static int run(int argc, char **argv)
{
	const char *priority = NULL, *group = NULL;
	double slo_us = 0;
	/* KFDSHIM_SLO is set in whole microseconds, which must fit into 32 bits. */
	const struct cli_option options[] = {
		{OPTION_PRIORITY(&priority)},
		{OPTION_NAME("group", &group, PROTOCOL_GROUP_MAX - 1, "a name of 1 to 63 bytes")},
		{OPTION_TIME("slo", &slo_us, 1, UINT32_MAX,
			     "a time such as 20ms, 1.5s or 500us, of 1us to 4294s")},
		{0},
	};
	char shim[PATH_MAX], slo[32], **command;
	int code = options_before_command(&cmd_run, argc, argv, options, &command);

	if (code != CLI_GO_ON)
		return code;
	if (!priority)
		return cli_usage(&cmd_run, "no --priority");
	if (!*command)
		return cli_usage(&cmd_run, "no command");
	snprintf(slo, sizeof(slo), "%.0fus", slo_us);
	if (cli_need(&cmd_run, "libkfdshim.so", true, shim))
		return CLI_FAILED;
	if (putenv(cli_preload(shim)) || setenv("KFDSHIM_PRIORITY", priority, 1) ||
	    (group && setenv("KFDSHIM_GROUP", group, 1)) ||
	    (slo_us > 0 && setenv("KFDSHIM_SLO", slo, 1)))
		allocated(NULL);
	execvp(*command, command);
	int error = errno;

	cli_failed(&cmd_run, "cannot start %s: %s", *command, strerror(error));
	return error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

const struct cli_command cmd_run = {
	.name = "run",
	.summary = "start a command with a priority for its GPU work",
	.usage = "--priority P [--group G] [--slo T] -- COMMAND [ARGUMENT]...",
	.help = "Starts COMMAND with libkfdshim.so preloaded (before libraries already in LD_PRELOAD) and\n"
		"the KFDSHIM_ variables set. While a process of higher priority has work on a GPU,\n"
		"kfdschedd suspends the others on it, in the middle of a kernel, and resumes them\n"
		"afterwards.\n"
		"\n"
		"  --priority P  online (15), offline (2), or 0 to 15; 15 is the most urgent\n"
		"  --group G     the name of the group that the process belongs to\n"
		"  --slo T       its latency objective (KFDSHIM_SLO): 20ms, 1.5s, 500us\n"
		"\n"
		"Examples:\n"
		"  kfdsched run --priority online --slo 20ms -- python3 serve.py\n"
		"  kfdsched run --priority offline --group night -- python3 train.py --epochs 10\n",
	.exits =
		"that of the command; 127 if it is not found, 126 if it cannot be executed; 1 if it was not\nstarted, 2 usage error.",
	.run = run,
};
