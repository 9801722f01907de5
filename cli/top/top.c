// SPDX-License-Identifier: MIT
/* kfdsched top: nodes and processes, updated live. */
#include "cli/top/loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/top/collect.h"
#include "cli/top/frame_output.h"
#include "cli/util/gpus.h"
#include "cli/util/interrupt.h"
#include "cli/util/parse_options.h"
#include "cli/util/select_process.h"
#include "common/text.h"

#define INTERVAL_US 1e6
#define LEAST_US 50e3
#define MOST_US 60e6

struct top_options {
	const char *socket;
	double interval_us;
	bool once, json;
	int pid;
};

static int parse(int argc, char **argv, struct top_options *out)
{
	const struct cli_option options[] = {
		{OPTION_SECONDS("interval", &out->interval_us, LEAST_US, MOST_US,
				"seconds, or a time such as 500ms, of 50ms to 60s")},
		{OPTION_FLAG("once", &out->once)},
		{OPTION_JSON(&out->json)},
		{OPTION_SOCKET(&out->socket)},
		{WORD_PID(&out->pid), .optional = true},
		{0},
	};
	int code = options_read(&cmd_top, argc, argv, options);

	if (code == CLI_GO_ON && out->json && !out->once)
		return cli_usage(&cmd_top, "--json needs --once: it prints one frame");
	return code;
}

/* ---- one frame ---- */

static int show(const struct top_options *options, const struct top_state *before,
		const struct top_state *now)
{
	const struct top_view view = {.sort = TOP_PID, .pid = options->pid};
	struct top_frame frame = {0};
	int rc = top_frame_make(&frame, before, now, &view), code = CLI_DONE;
	json_t *json;

	if (!rc && options->pid && frame.row_count == 0) {
		code = cli_failed(&cmd_top,
				  "process %d uses no GPU that is visible from here: 'kfdsched "
				  "diagnose %d' prints more",
				  options->pid, options->pid);
	} else if (!rc && options->json) {
		json = top_json(&frame);
		json_object_set_new(json, "gpus", gpus_json());
		rc = render_print(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	} else if (!rc) {
		rc = top_print(&frame);
	}
	top_frame_free(&frame);
	return rc ? cli_failed(&cmd_top, "out of memory for the frame") : code;
}

/* Collects twice, because shares and rates need an interval. */
static int once(const struct top_options *options)
{
	struct top_state before = {0}, now = {0};
	struct gatherer *gatherer = collect_open(options->socket);
	int code = CLI_DONE;

	if (!gatherer || collect_sample(gatherer, false, &before)) {
		code = cli_failed(&cmd_top, "out of memory");
	} else if (stop_sleep_until(before.ns + (uint64_t)(options->interval_us * 1000))) {
		/* Interrupted: print without shares and rates */
		code = show(options, NULL, &before);
	} else {
		code = collect_sample(gatherer, true, &now) ? cli_failed(&cmd_top, "out of memory")
							    : show(options, &before, &now);
	}
	collect_close(gatherer);
	top_state_free(&before);
	top_state_free(&now);
	return code;
}

/* ---- live ---- */

static int live(const struct top_options *options)
{
	const struct live_options how = {
		.socket = options->socket,
		.pid = options->pid,
		.interval_ns = (uint64_t)(options->interval_us * 1000),
		.stop_fd = stop_fd(),
	};
	const char *term = getenv("TERM");
	int rc = live_run(&how);

	switch (rc) {
	case 0:
	case -EIO: /* the terminal is gone, so no message is possible */
		return CLI_DONE;
	case -ENOTTY:
		return cli_usage(&cmd_top, "stdin and stdout are not a terminal: use --once");
	case -ENODEV:
		return cli_usage(&cmd_top, "unknown terminal type '%s' (TERM): use --once",
				 term ? term : "");
	default:
		return cli_failed(&cmd_top, "%s", strerror(-rc));
	}
}

/* Returns CLI_GO_ON if process `pid` exists and can have queues, else the exit code. */
static int is_there(int pid)
{
	struct process_identity process;

	/* The daemon can know a process that /proc hides. */
	return process_identify(pid, &process) == -EACCES ? CLI_GO_ON
							  : select_process(&cmd_top, pid, &process);
}

static int run(int argc, char **argv)
{
	struct top_options options = {.interval_us = INTERVAL_US};
	int code = parse(argc, argv, &options);

	if (code == CLI_GO_ON && options.pid)
		code = is_there(options.pid);
	/* Without a terminal live() reports the wrong use first. */
	if (code == CLI_GO_ON && (options.once || isatty(STDOUT_FILENO)) &&
	    select_needs_list(&cmd_top, options.socket) != CLI_DONE)
		code = CLI_IMPOSSIBLE;
	if (code != CLI_GO_ON)
		return code;
	if (stop_begin(&cmd_top))
		return CLI_FAILED;
	return options.once ? once(&options) : live(&options);
}

const struct cli_command cmd_top = {
	.name = "top",
	.summary = "show nodes and processes live, like htop",
	.usage = "[PID] [--interval 1] [--once [--json]] [--socket PATH]",
	.help = "Shows the utilization of the nodes, the number of their queues and hardware slots, how often\n"
		"the daemon suspends and how long that takes; and the processes that use a GPU, with or\n"
		"without the shim, or only PID. Key ? lists the keys: sort, filter, show the queues of a\n"
		"process, suspend and resume it, set its priority. A process that is suspended from here is\n"
		"resumed when top ends, however it ends. A value that is not known is '-'; without a daemon\n"
		"these are levels, states, suspensions and the time in which nodes had work. The exit code is\n"
		"77 if the processes cannot be listed: without a driver, or in a container without the\n"
		"daemon's socket.\n"
		"\n"
		"  --interval 1     seconds between samples, or a time such as 500ms; 50ms to 60s\n"
		"  --once           prints one frame as text, after two samples, and ends\n"
		"  --json           the same as one JSON object (docs/reference/processes.md)\n"
		"  --socket PATH    where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                   /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched top --interval 500ms\n"
		"  kfdsched top --once --json | jq '.nodes[] | {gpu_id, busy_ratio}'\n",
	.run = run,
};
