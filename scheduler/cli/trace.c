// SPDX-License-Identifier: MIT
/* kfdsched trace: what the shim, the daemon, the driver and HIP do, on one timeline. */
#include "scheduler/cli/trace.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/cli/ask.h"
#include "scheduler/observe/process.h"

#define HIP_LEVEL 4 /* from there on it tells of packets */
#define SECONDS_MAX 1e6

bool trace_is_chosen(const struct trace_options *options, pid_t pid)
{
	bool chosen = options->pids == 0;

	for (unsigned i = 0; i < options->pids; i++)
		chosen |= options->pid[i] == pid;
	return chosen;
}

static int add_pid(struct trace_options *out, const char *text)
{
	struct process_identity identity;
	char sentence[PROCESS_SENTENCE];
	pid_t pid = cli_pid(text);
	int error;

	if (!pid)
		return cli_usage(&verb_trace, "'%s' is not a process id", text);
	if (out->pids == TRACE_PIDS)
		return cli_usage(&verb_trace, "--pid can be given %u times", TRACE_PIDS);
	error = process_read(pid, &identity);
	if (error)
		return cli_failed(&verb_trace, "%s", process_sentence(sentence, pid, error));
	if (identity.kernel)
		return cli_failed(&verb_trace, "%d is a thread of the kernel: it has no queues",
				  (int)pid);
	if (identity.state == 'Z')
		return cli_failed(&verb_trace,
				  "process %d has ended (a zombie): its parent has not noticed yet",
				  (int)pid);
	out->pid[out->pids++] = pid;
	return ASK_GO_ON;
}

static int take(struct trace_options *out, int option, char **argv)
{
	double level;

	switch (option) {
	case 't':
		if (cli_positive(optarg, &out->seconds) || out->seconds > SECONDS_MAX)
			return cli_usage(&verb_trace, "--seconds is a number above 0, not '%s'",
					 optarg);
		return ASK_GO_ON;
	case 'f':
		out->perfetto = optarg;
		return ASK_GO_ON;
	case 'p':
		return add_pid(out, optarg);
	case 'l':
		out->hip_log = optarg;
		return ASK_GO_ON;
	case 'i':
		out->hip = HIP_LEVEL;
		if (optarg &&
		    (cli_positive(optarg, &level) || strlen(optarg) != 1 || level < 1 || level > 5))
			return cli_usage(&verb_trace, "--hip is a level of 1 to 5, not '%s'",
					 optarg);
		if (optarg)
			out->hip = (unsigned)level;
		return ASK_GO_ON;
	case 'j':
		out->json = true;
		return ASK_GO_ON;
	case 's':
		out->socket = optarg;
		return ASK_GO_ON;
	case 'h':
		return cli_help(&verb_trace);
	default:
		return cli_usage_getopt(&verb_trace, option, argv);
	}
}

static int parse(int argc, char **argv, struct trace_options *out)
{
	static const struct option options[] = {
		{"seconds", required_argument, NULL, 't'},
		{"perfetto", required_argument, NULL, 'f'},
		{"pid", required_argument, NULL, 'p'},
		{"hip-log", required_argument, NULL, 'l'},
		{"hip", optional_argument, NULL, 'i'},
		{"json", no_argument, NULL, 'j'},
		{"socket", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option, code = ASK_GO_ON;

	*out = (struct trace_options){.socket = ask_socket()};
	opterr = 0;
	while (code == ASK_GO_ON && (option = getopt_long(argc, argv, "+:h", options, NULL)) != -1)
		code = take(out, option, argv);
	if (code != ASK_GO_ON)
		return code;
	if (optind < argc && strcmp(argv[optind - 1], "--") != 0)
		return cli_usage(&verb_trace,
				 "'%s' is one argument too many: a command stands "
				 "behind --",
				 argv[optind]);
	if (optind < argc)
		out->command = argv + optind;
	if (out->perfetto && out->json)
		return cli_usage(&verb_trace, "--perfetto and --json exclude each other");
	if (out->hip && !out->command)
		return cli_usage(&verb_trace, "--hip is for a command that is started: of a "
					      "process that runs, name its log with --hip-log");
	return ASK_GO_ON;
}

static int run(int argc, char **argv)
{
	struct trace_options options;
	int code = parse(argc, argv, &options);

	return code == ASK_GO_ON ? trace_run(&options) : code;
}

const struct verb verb_trace = {
	.name = "trace",
	.summary = "one timeline of shim, daemon, driver and HIP, as a table or for Perfetto",
	.usage = "[--seconds N] [--perfetto FILE] [--pid PID]... [--hip-log FILE] [--hip[=LEVEL]] "
		 "[--json] [--socket PATH] [-- COMMAND [ARGUMENT]...]",
	.help = "Brings onto one timeline what the shim tells of queues, what the daemon decides\n"
		"and does, what the driver does (by tracefs, as root, in a trace instance of its\n"
		"own), and what HIP logs; until COMMAND ends, the time is over, or Ctrl-C. What\n"
		"cannot be seen is said on standard error. Without a daemon the shim's events are\n"
		"those that COMMAND logs, at the time at which they are read.\n"
		"\n"
		"  --seconds N      ends after so many; COMMAND is then told to end\n"
		"  --perfetto FILE  writes trace event JSON, for ui.perfetto.dev; '-' is stdout.\n"
		"                   Without it: a table on stdout\n"
		"  --pid PID        only this process, and what is done because of it; may be "
		"given\n"
		"                   several times\n"
		"  --hip-log FILE   a log that HIP writes (AMD_LOG_LEVEL) or has written\n"
		"  --hip[=LEVEL]    sets AMD_LOG_LEVEL (4) for COMMAND, whose log is read and not\n"
		"                   shown; HIP is slower then\n"
		"  --json           one JSON object a line (docs/formats.md)\n"
		"  --socket PATH    where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                   /run/kfdsched/socket\n"
		"\n"
		"COMMAND gets the shim, as by 'kfdsched run'; where the timeline is on stdout, "
		"its\n"
		"own output goes to stderr. The exit code is COMMAND's.\n"
		"\n"
		"Examples:\n"
		"  kfdsched trace --seconds 5 --perfetto trace.json\n"
		"  kfdsched trace --hip -- kfdsched run --priority online -- python3 serve.py\n",
	.run = run,
};
