// SPDX-License-Identifier: MIT
/* kfdsched monitor: the queues of a process, sample after sample. */
#include "scheduler/cli/monitor.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/cli/ask.h"
#include "scheduler/cli/stop.h"
#include "scheduler/observe/observe.h"

#define SECONDS_MAX (7 * 86400.0)
#define INTERVAL_MIN_US 100.0
#define INTERVAL_MAX_US 86400e6
#define TRAP_MIN_US 100e3

/* "5" and "0.2" are seconds; "1ms" says its unit. */
static int seconds_or_duration(const char *text, double *us)
{
	if (cli_positive(text, us) == 0) {
		*us *= 1e6;
		return 0;
	}
	return cli_duration_us(text, us);
}

static int sources_of(const char *word, unsigned *out)
{
	static const struct {
		const char *word;
		unsigned sources;
	} known[] = {
		{"auto", 0},
		{"trap", OBSERVE_BIT(OBSERVE_TRAP)},
		{"sysfs", OBSERVE_BIT(OBSERVE_SYSFS)},
		{"debugfs", OBSERVE_BIT(OBSERVE_MQD)},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(word, known[i].word) == 0) {
			*out = known[i].sources;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_options(int argc, char **argv, struct monitor_options *out)
{
	static const struct option options[] = {
		{"seconds", required_argument, NULL, 's'},
		{"interval", required_argument, NULL, 'i'},
		{"source", required_argument, NULL, 'S'},
		{"record", required_argument, NULL, 'r'},
		{"socket", required_argument, NULL, 'k'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	double us;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 's':
			if (seconds_or_duration(optarg, &us) || us > SECONDS_MAX * 1e6)
				return cli_usage(
					&verb_monitor,
					"--seconds takes seconds, at most a week, not '%s'",
					optarg);
			out->seconds = us / 1e6;
			break;
		case 'i':
			if (seconds_or_duration(optarg, &us) || us < INTERVAL_MIN_US ||
			    us > INTERVAL_MAX_US)
				return cli_usage(&verb_monitor,
						 "--interval takes seconds, or a time such as 1ms, "
						 "of 100us to a day, not '%s'",
						 optarg);
			out->interval_us = us;
			break;
		case 'S':
			if (sources_of(optarg, &out->sources))
				return cli_usage(
					&verb_monitor,
					"--source is auto, trap, sysfs or debugfs, not '%s'",
					optarg);
			break;
		case 'r':
			if (optarg[0] == '\0')
				return cli_usage(&verb_monitor, "--record names a folder, not ''");
			out->record = optarg;
			break;
		case 'k':
			out->socket = optarg;
			break;
		case 'j':
			out->json = true;
			break;
		case 'h':
			return cli_help(&verb_monitor);
		default:
			return cli_usage_getopt(&verb_monitor, option, argv);
		}
	}
	return ASK_GO_ON;
}

static int run(int argc, char **argv)
{
	struct monitor_options options = {.seconds = 30, .interval_us = 5e6};
	int code = read_options(argc, argv, &options);

	if (code != ASK_GO_ON)
		return code;
	code = ask_pid(&verb_monitor, argc, argv, &options.pid);
	if (code != ASK_GO_ON)
		return code;
	if (options.pid == 0)
		return cli_usage(&verb_monitor, "no PID");
	if (options.sources == OBSERVE_BIT(OBSERVE_TRAP)) {
		if (options.interval_us < TRAP_MIN_US)
			return cli_usage(&verb_monitor,
					 "--source trap opens a debug session for each sample: "
					 "--interval is 100ms or longer");
		fprintf(stderr,
			"kfdsched monitor: each sample opens a debug session: it interrupts "
			"the GPUs of that process for a moment, and no other debugger can "
			"attach meanwhile\n");
	}
	code = stop_begin();
	if (code)
		return cli_failed(&verb_monitor, "cannot listen for signals: %s", strerror(-code));
	return monitor_process(&verb_monitor, &options);
}

const struct verb verb_monitor = {
	.name = "monitor",
	.summary = "the queues of a process over time, and whether their ids stay",
	.usage = "PID [--seconds 30] [--interval 5] [--source auto|trap|sysfs|debugfs] "
		 "[--record DIR] [--json]",
	.help = "Looks at the queues of PID again and again and prints a line for each sample, "
		"with "
		"what\n"
		"has changed since the one before; then how many there were, whether they stayed, "
		"in\n"
		"which share of the samples each id was there, and what that means for whoever "
		"suspends\n"
		"them. Ctrl-C ends it early, with what there is.\n"
		"\n"
		"  --seconds 30       for so long; also a time with its unit, such as 500ms\n"
		"  --interval 5       a sample each so many seconds, or a time such as 1ms. "
		"Samples "
		"without\n"
		"                     a change are printed ten times a second at most; all count\n"
		"  --source auto      whom to ask: auto takes the daemon, what the shim writes, "
		"sysfs and\n"
		"                     debugfs, the first that knows, and below 100ms sysfs where "
		"it\n"
		"                     can. trap opens a debug session for each sample, which "
		"interrupts\n"
		"                     the GPUs for a moment. debugfs names no ids and wants root\n"
		"  --record DIR       keeps each sample in a new folder, with the raw text of "
		"debugfs\n"
		"                     (MQDs and HQDs) where it can be read: kfdsched analyze DIR\n"
		"  --json             one object at the end; docs/formats.md names the keys\n"
		"  --socket PATH      where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                     /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched monitor 4711 --seconds 60\n"
		"  kfdsched monitor 4711 --interval 1ms --seconds 5 --source sysfs --json\n",
	.run = run,
};
