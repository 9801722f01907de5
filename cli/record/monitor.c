// SPDX-License-Identifier: MIT
/* kfdsched monitor: samples the queues of a process repeatedly and reports whether they change. */
#include "cli/record/monitor.h"

#include <stdio.h>
#include <string.h>

#include "cli/inspect/inspect.h"
#include "cli/util/interrupt.h"
#include "cli/util/parse_options.h"

#define FOR_MAX_US (7 * 86400e6)
#define INTERVAL_MIN_US 100.0
#define INTERVAL_MAX_US 86400e6
#define TRAP_MIN_US 100e3 /* shortest interval of source trap: each sample interrupts the GPUs */

static int run(int argc, char **argv)
{
	static const char *const names[] = {"auto", "trap", "sysfs", "debugfs", NULL};
	static const unsigned sources[] = {
		0,
		OBSERVE_BIT(OBSERVE_TRAP),
		OBSERVE_BIT(OBSERVE_SYSFS),
		OBSERVE_BIT(OBSERVE_MQD),
	};
	struct monitor_options wanted = {.interval_us = 5e6};
	double for_us = 30e6;
	unsigned source = 0;
	const struct cli_option options[] = {
		{OPTION_SECONDS("seconds", &for_us, 0, FOR_MAX_US, "seconds, at most a week")},
		{OPTION_SECONDS("interval", &wanted.interval_us, INTERVAL_MIN_US, INTERVAL_MAX_US,
				"seconds, or a time such as 1ms, of 100us to a day")},
		{OPTION_CHOICE("source", &source, names)},
		{OPTION_NAME("record", &wanted.record, PATH_MAX, "a folder")},
		{OPTION_JSON(&wanted.json)},
		{OPTION_SOCKET(&wanted.socket)},
		{WORD_PID(&wanted.pid)},
		{0},
	};
	int code = options_read(&cmd_monitor, argc, argv, options);

	if (code != CLI_GO_ON)
		return code;
	wanted.seconds = for_us / 1e6;
	wanted.sources = sources[source];
	if (wanted.sources == OBSERVE_BIT(OBSERVE_TRAP)) {
		if (wanted.interval_us < TRAP_MIN_US)
			return cli_usage(&cmd_monitor,
					 "--source trap opens a debug session for each sample: "
					 "--interval is 100ms or longer");
		cli_warn_session(&cmd_monitor, wanted.pid);
		fprintf(stderr,
			"kfdsched monitor: each sample opens a session, which interrupts the GPUs "
			"of that process for a moment and excludes other debuggers\n");
	}
	return stop_begin(&cmd_monitor) ? CLI_FAILED : monitor_process(&cmd_monitor, &wanted);
}

const struct cli_command cmd_monitor = {
	.name = "monitor",
	.summary = "sample the queues of a process over time: are their ids stable",
	.usage = "PID [--seconds 30] [--interval 5] [--source auto|trap|sysfs|debugfs] "
		 "[--record DIR] [--json]",
	.help = "Samples the queues of PID repeatedly and prints a line for each sample, with the changes\n"
		"since the previous one; then the number of queues, whether it was stable, the share of the\n"
		"samples with each id, and what this means for suspending the queues. Ctrl-C ends it early\n"
		"and prints the result so far.\n"
		"\n"
		"  --seconds 30       duration; also a time with its unit, such as 500ms\n"
		"  --interval 5       seconds between samples, or a time such as 1ms. Samples without a\n"
		"                     change are printed at most ten times a second; all samples count\n"
		"  --source auto      source of the samples. auto: the first of daemon, shim, sysfs and\n"
		"                     debugfs that has data; below 100ms sysfs if possible. trap opens a\n"
		"                     debug session for each sample, which interrupts the GPUs for a moment;\n"
		"                     on a real GPU a busy runtime has crashed when a debug session was\n"
		"                     opened. debugfs has no ids and needs root\n"
		"  --record DIR       writes each sample to a new directory, with the raw text of debugfs\n"
		"                     (MQDs and HQDs) if it is readable: kfdsched analyze DIR\n"
		"  --json             one object at the end; docs/reference/recordings.md describes the keys\n"
		"  --socket PATH      where the daemon listens; without it KFDSHIM_SOCKET, or\n"
		"                     /run/kfdsched/socket\n"
		"\n"
		"Examples:\n"
		"  kfdsched monitor 4711 --seconds 60\n"
		"  kfdsched monitor 4711 --interval 1ms --seconds 5 --source sysfs --json\n",
	.run = run,
};
