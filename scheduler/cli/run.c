// SPDX-License-Identifier: MIT
/* kfdsched run: a command with the shim preloaded and its priority set. */
#include "scheduler/cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channel/protocol.h"

/* What a shell answers when a command cannot be started. */
#define NOT_FOUND 127
#define NOT_EXECUTABLE 126

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{"priority", required_argument, NULL, 'p'},
		{"group", required_argument, NULL, 'g'},
		{"slo", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	const char *priority = NULL, *group = NULL, *slo = NULL;
	char shim[PATH_MAX], slo_us[32];
	int option, level;
	double us = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
		switch (option) {
		case 'p':
			priority = optarg;
			break;
		case 'g':
			group = optarg;
			break;
		case 't':
			slo = optarg;
			break;
		case 'h':
			return cli_help(&verb_run);
		default:
			return cli_usage_getopt(&verb_run, option, argv);
		}
	}
	if (!priority)
		return cli_usage(&verb_run, "no --priority");
	if (protocol_priority(priority, &level))
		return cli_usage(&verb_run, "--priority is online, offline or 0 to 15, not '%s'",
				 priority);
	if (group && (group[0] == '\0' || strlen(group) >= PROTOCOL_GROUP_MAX))
		return cli_usage(&verb_run, "--group is a name of 1 to %d bytes",
				 PROTOCOL_GROUP_MAX - 1);
	/* The shim reads whole numbers. */
	if (slo && (cli_duration_us(slo, &us) || us < 1 || us > UINT32_MAX))
		return cli_usage(&verb_run,
				 "--slo is a time such as 20ms, 1.5s or 500us, from 1us to 4294s, "
				 "not '%s'",
				 slo);
	snprintf(slo_us, sizeof(slo_us), "%.0fus", us);
	if (optind == argc)
		return cli_usage(&verb_run, "no command");
	if (cli_beside("libkfdshim.so", shim))
		return cli_failed(&verb_run, "libkfdshim.so is neither in the folder of kfdsched "
					     "nor in ../lib: build or install it there");

	int rc = cli_preload(shim);

	if (rc == -EINVAL)
		return cli_failed(&verb_run,
				  "LD_PRELOAD cannot carry %s, because of its space or colon: "
				  "move the build to another folder",
				  shim);
	if (rc || setenv("KFDSHIM_PRIORITY", priority, 1) ||
	    (group && setenv("KFDSHIM_GROUP", group, 1)) ||
	    (slo && setenv("KFDSHIM_SLO", slo_us, 1)))
		return cli_failed(&verb_run, "no memory for the command's environment");

	execvp(argv[optind], argv + optind);
	int error = errno;

	cli_failed(&verb_run, "cannot start %s: %s", argv[optind], strerror(error));
	return error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}

const struct verb verb_run = {
	.name = "run",
	.summary = "start a command whose GPU work has a priority",
	.usage = "--priority P [--group G] [--slo T] -- COMMAND [ARGUMENT]...",
	.help = "Starts COMMAND with libkfdshim.so preloaded (before what LD_PRELOAD names "
		"already)\n"
		"and the KFDSHIM_ variables set. When a process of higher priority has work on a\n"
		"GPU, kfdschedd takes the others off it, in the middle of a kernel, and puts them\n"
		"back afterwards.\n"
		"\n"
		"  --priority P  online (15), offline (2), or 0 to 15; 15 is the most urgent\n"
		"  --group G     the name of the group that the process belongs to\n"
		"  --slo T       its latency objective (KFDSHIM_SLO): 20ms, 1.5s, 500us\n"
		"\n"
		"The exit code is the command's; 127 when it is not found, 126 when it cannot be\n"
		"executed.\n"
		"\n"
		"Examples:\n"
		"  kfdsched run --priority online --slo 20ms -- python3 serve.py\n"
		"  kfdsched run --priority offline --group night -- python3 train.py --epochs 10\n",
	.run = run,
};
