// SPDX-License-Identifier: MIT
/* kfdsched trace: the activity of shim, daemon, driver and HIP on one timeline. */
#include "cli/trace/trace.h"

#include <errno.h>
#include <string.h>

#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"

#define HIP_LEVEL "4" /* lowest level at which HIP logs packets */
#define SECONDS_MAX 1e6

bool trace_is_chosen(const struct trace_options *options, pid_t pid)
{
	bool chosen = options->pids == 0;

	for (unsigned i = 0; i < options->pids; i++)
		chosen |= options->pid[i] == pid;
	return chosen;
}

/* Adds a pid to the list of a struct trace_options; called by OPTION_READ. */
static int add_pid(const char *text, void *into)
{
	struct trace_options *out = into;
	pid_t pid = cli_pid(text);

	if (!pid || out->pids == TRACE_PIDS)
		return -EINVAL;
	out->pid[out->pids++] = pid;
	return 0;
}

/* Adds the processes of the container that use a GPU now. Returns CLI_GO_ON or the exit code. */
static int add_container(struct trace_options *out, const char *container)
{
	struct container_names *names = container_names_new();
	const struct snapshot_request request = {
		.scope = SNAPSHOT_SEARCH, .container = container, .names = names};
	struct snapshot_reader *reader = snapshot_open(out->socket);
	const struct snapshot *snapshot = select_read(&cmd_trace, reader, &request);
	unsigned chosen = out->pids;
	int code = snapshot ? CLI_GO_ON : CLI_FAILED;

	for (size_t i = 0; snapshot && i < snapshot->count && out->pids < TRACE_PIDS; i++)
		out->pid[out->pids++] = snapshot->processes[i]->identity.pid;
	if (snapshot && chosen + snapshot->count > TRACE_PIDS)
		code = cli_failed(&cmd_trace,
				  "container %s has %zu GPU processes, and %u processes can be "
				  "traced at once",
				  container, snapshot->count, TRACE_PIDS - chosen);
	else if (snapshot && !snapshot->count)
		code = cli_failed(
			&cmd_trace,
			"no process of container %s uses a GPU%s: 'kfdsched pidmap' lists "
			"those that do",
			container, snapshot->hidden ? ", as far as this user can see" : "");
	snapshot_close(reader);
	container_names_free(names);
	return code;
}

static int parse(int argc, char **argv, struct trace_options *out)
{
	const char *container = NULL;
	struct option_number seconds = {0};
	unsigned long hip = 0;
	const struct cli_option options[] = {
		{OPTION_NUMBER("seconds", &seconds, SECONDS_MAX, "a number above 0")},
		{OPTION_TEXT("perfetto", &out->perfetto)},
		{OPTION_READ("pid", out, add_pid, "a process id, at most 64 times")},
		{OPTION_CONTAINER(&container)},
		{OPTION_TEXT("hip-log", &out->hip_log)},
		{OPTION_COUNT("hip", &hip, 1, 5, "a level of 1 to 5"), .without = HIP_LEVEL},
		{OPTION_JSON(&out->json)},
		{OPTION_SOCKET(&out->socket)},
		{0},
	};
	struct process_identity process;
	char **command;
	int code = options_before_command(&cmd_trace, argc, argv, options, &command);

	for (unsigned i = 0; code == CLI_GO_ON && i < out->pids; i++)
		code = select_process(&cmd_trace, out->pid[i], &process);
	if (code == CLI_GO_ON && container)
		code = add_container(out, container);
	if (code != CLI_GO_ON)
		return code;
	if (*command && strcmp(command[-1], "--") != 0)
		return cli_usage(&cmd_trace, "unexpected argument '%s': a command follows after --",
				 *command);
	if (*command)
		out->command = command;
	out->seconds = seconds.value;
	out->hip = (unsigned)hip;
	if (out->perfetto && out->json)
		return cli_usage(&cmd_trace, "--perfetto and --json exclude each other");
	if (out->hip && !out->command)
		return cli_usage(&cmd_trace, "--hip applies to a command that trace starts: for a "
					     "running process give its log with --hip-log");
	return CLI_GO_ON;
}

static int run(int argc, char **argv)
{
	struct trace_options options = {0};
	int code = parse(argc, argv, &options);

	return code == CLI_GO_ON ? trace_run(&options) : code;
}

const struct cli_command cmd_trace = {
	.name = "trace",
	.summary = "record one timeline of shim, daemon, driver and HIP, as a table or for "
		   "Perfetto",
	.usage = "[--seconds N] [--perfetto FILE] [--pid PID]... [--container NAME|ID] "
		 "[--hip-log FILE] [--hip[=LEVEL]] [--json] [--socket PATH] "
		 "[-- COMMAND [ARGUMENT]...]",
	.help = "Merges into one timeline the queue events of the shim, the decisions and actions of the\n"
		"daemon, the activity of the driver (by tracefs, as root, in a separate trace instance),\n"
		"and the log of HIP; until COMMAND ends, the time is over, or Ctrl-C. Missing sources are\n"
		"reported on standard error. Without a daemon the shim's events are those that COMMAND\n"
		"logs, at the time at which they are read.\n"
		"\n"
		"  --seconds N      ends after N seconds; COMMAND is then ended by SIGTERM\n"
		"  --perfetto FILE  writes trace event JSON, for ui.perfetto.dev; '-' is stdout.\n"
		"                   Without it: a table on stdout\n"
		"  --pid PID        only this process, and actions that it caused; may be given several\n"
		"                   times\n"
		"  --container X    the processes of that container that use a GPU at the begin: its name,\n"
		"                   the beginning of its id (4 digits), or the uid of its pod\n"
		"  --hip-log FILE   a log that HIP writes (AMD_LOG_LEVEL) or has written\n"
		"  --hip[=LEVEL]    sets AMD_LOG_LEVEL (4) for COMMAND, whose log is read and not\n"
		"                   printed; it makes HIP slower\n"
		"  --json           one JSON object per line (docs/reference/trace.md)\n"
		"  --socket PATH    where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                   /run/kfdsched/socket\n"
		"\n"
		"COMMAND runs with the shim, as by 'kfdsched run'; if the timeline is on stdout, the output\n"
		"of COMMAND goes to stderr.\n"
		"\n"
		"Examples:\n"
		"  kfdsched trace --seconds 5 --perfetto trace.json\n"
		"  kfdsched trace --hip -- kfdsched run --priority online -- python3 serve.py\n",
	.exits =
		"that of COMMAND, 128 + N if signal N ended it; without one 0 success, 1 failure, 2 usage\nerror, 77 if there is nothing to trace here.",
	.run = run,
};
